// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/check_c.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "gpu/check_case.hpp"
#include "memory/cuda/device.hpp"
#include "shunt/device.h"

namespace shunt::bench::gpu {
namespace {

using memory::cuda::check;
using memory::cuda::DeviceMemory;

constexpr int kReplays = 5;

struct Destroy {
  void operator()(shunt_world* world) const { shunt_world_destroy(world); }
  void operator()(shunt_device_buffer* buffer) const { shunt_device_buffer_destroy(buffer); }
  void operator()(shunt_device_handle* handle) const { shunt_device_handle_destroy(handle); }
  void operator()(CUstream_st* stream) const { (void)cudaStreamDestroy(stream); }
  void operator()(CUevent_st* event) const { (void)cudaEventDestroy(event); }
  void operator()(CUgraph_st* graph) const { (void)cudaGraphDestroy(graph); }
  void operator()(CUgraphExec_st* graph) const { (void)cudaGraphExecDestroy(graph); }
};
template <typename T>
using Owned = std::unique_ptr<T, Destroy>;

template <typename... Args>
Unexpected wrong(fmt::format_string<Args...> text, Args&&... args) {
  return fail(ErrorCode::kCorrupt,
              ErrorScope::kOperation,
              "through the interface for C: {}",
              fmt::format(text, std::forward<Args>(args)...));
}

Status passed(shunt_status status, const char* what) {
  if (status == SHUNT_OK) return {};
  return wrong("{}: status {}, {}", what, static_cast<int>(status), shunt_last_error());
}

/// That a call is refused, for the reason that `text` is part of.
Status refused(shunt_status status, std::string_view text) {
  if (status == SHUNT_INVALID_ARGUMENT &&
      std::string_view(shunt_last_error()).find(text) != std::string_view::npos) {
    return {};
  }
  return wrong("status {} with '{}' where '{}' is refused",
               static_cast<int>(status),
               shunt_last_error(),
               text);
}

/// The all-gather that a caller brings.
int gather(const void* mine, std::size_t bytes, void* all, void* user) {
  auto* world = static_cast<bootstrap::World*>(user);
  const auto blobs = world->all_gather({static_cast<const std::byte*>(mine), bytes});
  if (!blobs) return 1;
  auto* to = static_cast<std::byte*>(all);
  for (const std::vector<std::byte>& blob : *blobs) {
    if (blob.size() != bytes) return 1;
    std::memcpy(to, blob.data(), bytes);
    to += bytes;
  }
  return 0;
}

/// One rank: its buffer, memory and handles, as a program in C holds them.
class User {
 public:
  User(const Case& setup, const WorldCase& reference, int rank)
      : case_(setup), reference_(reference), rank_(rank), tokens_(reference.tokens(rank)) {}

  Status create(bootstrap::World& world) {
    shunt_world* made = nullptr;
    SHUNT_TRY(
        passed(shunt_world_create(world.rank(), world.size(), gather, &world, &made), "world"));
    world_.reset(made);
    const BufferOptions from = options_of(case_, reference_);
    shunt_buffer_options options = SHUNT_BUFFER_OPTIONS_INIT;
    options.ranks_per_node = from.ranks_per_node;
    options.experts = from.experts;
    options.topk = from.topk;
    options.dtype = static_cast<int>(from.dtype);
    options.hidden = from.hidden;
    options.max_tokens = from.max_tokens;
    options.chunk_tokens = from.chunk_tokens;
    options.credits = from.credits;
    options.proxy_threads = from.proxy_threads;
    options.heap_bytes = from.heap_bytes;
    options.deadline_ns = from.deadline_ns;
    const engine::cuda::Geometry geometry = geometry_of(case_, reference_);
    shunt_device_options device = SHUNT_DEVICE_OPTIONS_INIT;
    device.sms = geometry.blocks;
    device.warps = geometry.warps;
    device.row_warps = geometry.row_warps;
    device.rdma_blocks = geometry.rdma_blocks;
    shunt_device_buffer* buffer = nullptr;
    SHUNT_TRY(passed(shunt_device_available(), "available"));
    SHUNT_TRY(
        passed(shunt_device_buffer_create(world_.get(), &options, &device, &buffer), "create"));
    buffer_.reset(buffer);
    return take_memory();
  }

  Status check_refusals() {
    shunt_device_handle* made = nullptr;
    shunt_device_routing routing = host_routing();
    routing.tokens = -1;
    SHUNT_TRY(refused(shunt_device_plan(buffer_.get(), &routing, &made), "-1 tokens"));
    SHUNT_TRY(refused(shunt_device_make_handle(buffer_.get(), -1, &made), "-1 tokens"));
    const auto handle = plan();
    if (!handle) return Unexpected(handle.error());
    SHUNT_TRY(refused(shunt_device_combine(
                          buffer_.get(), handle->get(), output_.rows, sums_.data(), stream_.get()),
                      "no dispatch"));
    routing = device_routing();
    SHUNT_TRY(
        refused(shunt_device_plan_on_device(buffer_.get(), handle->get(), &routing, stream_.get()),
                "planned on the host"));
    shunt_dispatch_output foreign = output_;
    foreign.rows = sums_.data();
    SHUNT_TRY(refused(dispatch(handle->get(), foreign), "heap"));
    foreign = output_;
    foreign.capacity = -1;
    SHUNT_TRY(refused(dispatch(handle->get(), foreign), "-1 rows"));
    return passed(shunt_device_buffer_status(buffer_.get()), "status");
  }

  /// Planned on the host: the first dispatch, and a replay with other rows.
  Status check_plan() {
    const auto handle = plan();
    if (!handle) return Unexpected(handle.error());
    for (int round = 0; round < 2; ++round) SHUNT_TRY(round_trip(handle->get(), round));
    return {};
  }

  /// Planned on the device: directly, then captured with its operations and replayed.
  Status check_graph() {
    shunt_device_handle* made = nullptr;
    SHUNT_TRY(passed(shunt_device_make_handle(buffer_.get(), tokens_, &made), "make_handle"));
    const Owned<shunt_device_handle> handle(made);
    SHUNT_TRY(plan_on_device(made));
    SHUNT_TRY(round_trip(made, 10));
    SHUNT_TRY(check(cudaStreamBeginCapture(stream_.get(), cudaStreamCaptureModeThreadLocal),
                    "beginning to capture"));
    Status issued = plan_on_device(made);
    if (issued) issued = passed(dispatch(made, output_), "dispatch");
    cudaGraph_t captured = nullptr;
    const Status ended = check(cudaStreamEndCapture(stream_.get(), &captured), "ending to capture");
    const Owned<CUgraph_st> graph(captured);
    SHUNT_TRY(issued);
    SHUNT_TRY(ended);
    cudaGraphExec_t ready = nullptr;
    SHUNT_TRY(check(cudaGraphInstantiate(&ready, captured, 0), "making a graph ready"));
    const Owned<CUgraphExec_st> run(ready);
    for (int round = 20; round < 20 + kReplays; ++round) {
      SHUNT_TRY(fill_input(round));
      SHUNT_TRY(check(cudaGraphLaunch(ready, stream_.get()), "launching a graph"));
      SHUNT_TRY(finish_round_trip(made, round));
    }
    return {};
  }

  /// What comes between nodes; no name inside one.
  Status check_provider() const {
    const bool several = reference_.world > reference_.ranks_per_node;
    const std::string_view provider = shunt_device_buffer_provider(buffer_.get());
    return provider.empty() == several ? Status(wrong("provider '{}'", provider)) : Status{};
  }

 private:
  Status take_memory() {
    cudaStream_t stream = nullptr;
    SHUNT_TRY(check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "making a stream"));
    stream_.reset(stream);
    cudaEvent_t event = nullptr;
    SHUNT_TRY(check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "making an event"));
    event_.reset(event);
    expected_ = testing::expected_rows(reference_, rank_);
    for (std::int64_t t = 0; t < tokens_; ++t) {
      for (int k = 0; k < reference_.topk; ++k) {
        weights_.push_back(testing::weight_value(rank_, t, k));
      }
    }
    // A row more than arrives, so that no capacity is 0.
    output_.capacity = static_cast<std::int64_t>(expected_.size()) + 1;
    const auto rows = static_cast<std::size_t>(output_.capacity);
    void* origins = nullptr;
    SHUNT_TRY(passed(shunt_device_buffer_allocate(buffer_.get(), rows * row_bytes(), &output_.rows),
                     "allocate"));
    SHUNT_TRY(
        passed(shunt_device_buffer_allocate(buffer_.get(), rows * sizeof(RowOrigin), &origins),
               "allocate"));
    output_.origins = static_cast<shunt_row_origin*>(origins);
    const std::size_t bytes = static_cast<std::size_t>(tokens_) * row_bytes();
    for (auto& [memory, size] : {std::pair{&input_, bytes},
                                 std::pair{&sums_, bytes},
                                 std::pair{&ids_, weights_.size() * sizeof(std::int32_t)},
                                 std::pair{&device_weights_, weights_.size() * sizeof(float)}}) {
      auto made = DeviceMemory::create(size);
      if (!made) return Unexpected(std::move(made).error());
      *memory = std::move(*made);
    }
    SHUNT_TRY(upload(ids_, std::as_bytes(std::span(ids()))));
    return upload(device_weights_, std::as_bytes(std::span(weights_)));
  }

  [[nodiscard]] const std::vector<std::int32_t>& ids() const {
    return reference_.ids[static_cast<std::size_t>(rank_)];
  }
  [[nodiscard]] std::size_t row_bytes() const {
    return static_cast<std::size_t>(reference_.hidden) * size_of(reference_.dtype);
  }
  /// On the stream of the operations: no other work of the device is waited for.
  Status copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    SHUNT_TRY(check(cudaMemcpyAsync(to, from, bytes, kind, stream_.get()), "copying"));
    return check(cudaStreamSynchronize(stream_.get()), "copying");
  }
  Status upload(const DeviceMemory& to, std::span<const std::byte> from) {
    return copy(to.data(), from.data(), from.size(), cudaMemcpyHostToDevice);
  }
  Status fetch(std::vector<std::byte>& to, const void* from) {
    return copy(to.data(), from, to.size(), cudaMemcpyDeviceToHost);
  }

  [[nodiscard]] shunt_device_routing host_routing() const {
    return {sizeof(shunt_device_routing), tokens_, ids().data(), weights_.data()};
  }
  [[nodiscard]] shunt_device_routing device_routing() const {
    return {sizeof(shunt_device_routing),
            tokens_,
            reinterpret_cast<const std::int32_t*>(ids_.data()),
            reinterpret_cast<const float*>(device_weights_.data())};
  }
  Result<Owned<shunt_device_handle>> plan() {
    const shunt_device_routing routing = host_routing();
    shunt_device_handle* handle = nullptr;
    SHUNT_TRY(passed(shunt_device_plan(buffer_.get(), &routing, &handle), "plan"));
    return Owned<shunt_device_handle>(handle);
  }
  Status plan_on_device(shunt_device_handle* handle) {
    const shunt_device_routing routing = device_routing();
    return passed(shunt_device_plan_on_device(buffer_.get(), handle, &routing, stream_.get()),
                  "plan_on_device");
  }
  shunt_status dispatch(shunt_device_handle* handle, const shunt_dispatch_output& output) {
    return shunt_device_dispatch(buffer_.get(), handle, input_.data(), &output, stream_.get());
  }

  Status fill_input(int round) {
    std::vector<std::byte> rows(static_cast<std::size_t>(tokens_) * row_bytes());
    for (std::int64_t i = 0; i < tokens_ * reference_.hidden; ++i) {
      const std::int64_t element = i % reference_.hidden;
      testing::store(rows.data(),
                     i,
                     reference_.dtype,
                     testing::input_value(rank_, i / reference_.hidden, element + round));
    }
    return upload(input_, rows);
  }

  Status round_trip(shunt_device_handle* handle, int round) {
    SHUNT_TRY(fill_input(round));
    SHUNT_TRY(passed(dispatch(handle, output_), "dispatch"));
    return finish_round_trip(handle, round);
  }

  /// After a dispatch on the stream: rows compared, the experts' work on the host, combine, sums.
  Status finish_round_trip(shunt_device_handle* handle, int round) {
    SHUNT_TRY(check(cudaEventRecord(event_.get(), stream_.get()), "recording an event"));
    SHUNT_TRY(passed(shunt_device_wait_event(buffer_.get(), event_.get()), "wait_event"));
    int done = 0;
    SHUNT_TRY(passed(shunt_device_query_event(buffer_.get(), event_.get(), &done), "query_event"));
    if (done != 1) return wrong("an event that was waited for has not come");
    SHUNT_TRY(check_received(handle));
    SHUNT_TRY(compute_experts(round));
    SHUNT_TRY(passed(
        shunt_device_combine(buffer_.get(), handle, output_.rows, sums_.data(), stream_.get()),
        "combine"));
    SHUNT_TRY(passed(shunt_device_wait(buffer_.get(), stream_.get()), "wait"));
    SHUNT_TRY(passed(shunt_device_query(buffer_.get(), stream_.get(), &done), "query"));
    if (done != 1) return wrong("a stream that was waited for has work left");
    return compare_sums(round);
  }

  Status check_received(const shunt_device_handle* handle) {
    std::int64_t rows = 0;
    std::int64_t overflow = -1;
    std::vector<std::int64_t> from(static_cast<std::size_t>(reference_.world));
    SHUNT_TRY(passed(shunt_device_received(buffer_.get(), handle, &rows, &overflow, from.data()),
                     "received"));
    if (rows != static_cast<std::int64_t>(expected_.size()) || overflow != 0) {
      return wrong("{} rows and {} too many, not {} and 0", rows, overflow, expected_.size());
    }
    for (int r = 0; r < reference_.world; ++r) {
      const auto right = std::count_if(
          expected_.begin(), expected_.end(), [r](const RowOrigin& o) { return o.rank == r; });
      const std::int64_t seen = from[static_cast<std::size_t>(r)];
      if (seen != right) return wrong("{} rows from rank {}, not {}", seen, r, right);
    }
    return {};
  }

  /// Compares what has arrived and replaces it by what the experts make of it.
  Status compute_experts(int round) {
    std::vector<std::byte> rows(expected_.size() * row_bytes());
    std::vector<std::byte> origins(expected_.size() * sizeof(RowOrigin));
    SHUNT_TRY(fetch(rows, output_.rows));
    SHUNT_TRY(fetch(origins, output_.origins));
    for (std::size_t i = 0; i < expected_.size(); ++i) {
      RowOrigin origin;
      std::memcpy(&origin, origins.data() + i * sizeof(RowOrigin), sizeof(RowOrigin));
      const RowOrigin right = expected_[i];
      if (origin.rank != right.rank || origin.token != right.token) {
        return wrong("row {} comes from ({}, {})", i, origin.rank, origin.token);
      }
      std::byte* row = rows.data() + i * row_bytes();
      for (std::int64_t e = 0; e < reference_.hidden; ++e) {
        const float value = testing::load(row, e, reference_.dtype);
        const float sent = testing::round_to(
            testing::input_value(right.rank, right.token, e + round), reference_.dtype);
        if (value != sent) return wrong("row {} element {} is {}, not {}", i, e, value, sent);
        testing::store(row, e, reference_.dtype, testing::expert_value(value, rank_));
      }
    }
    return copy(output_.rows, rows.data(), rows.size(), cudaMemcpyHostToDevice);
  }

  Status compare_sums(int round) {
    std::vector<std::byte> sums(static_cast<std::size_t>(tokens_) * row_bytes());
    SHUNT_TRY(fetch(sums, sums_.data()));
    const auto always = [](int, int, std::int64_t) { return true; };
    for (std::int64_t t = 0; t < tokens_; ++t) {
      const auto right = testing::expected_sum(reference_, rank_, t, round, always);
      for (std::int64_t e = 0; e < reference_.hidden; ++e) {
        const float value = testing::load(
            sums.data() + static_cast<std::size_t>(t) * row_bytes(), e, reference_.dtype);
        const float want = right[static_cast<std::size_t>(e)];
        if (value != want)
          return wrong("token {} element {} sums to {}, not {}", t, e, value, want);
      }
    }
    return {};
  }

  const Case& case_;
  const WorldCase& reference_;
  const int rank_;
  const std::int64_t tokens_;
  std::vector<float> weights_;
  std::vector<RowOrigin> expected_;
  shunt_dispatch_output output_ = SHUNT_DISPATCH_OUTPUT_INIT;
  // Order matters: memory and streams end after the buffer, the world last.
  Owned<shunt_world> world_;
  DeviceMemory input_;
  DeviceMemory sums_;
  DeviceMemory ids_;
  DeviceMemory device_weights_;
  Owned<CUstream_st> stream_;
  Owned<CUevent_st> event_;
  Owned<shunt_device_buffer> buffer_;
};

}  // namespace

Status run_c(bootstrap::World& world, int ranks_per_node, int proxy_threads) {
  Case setup;
  setup.name = "through the interface for C";
  setup.proxy_threads = proxy_threads;
  setup.tokens = {17, 0, 33, 64};
  setup.dropped = 0.1;
  const WorldCase reference = world_case(setup, world.size(), ranks_per_node, 107);
  User user(setup, reference, world.rank());
  SHUNT_TRY(user.create(world));
  SHUNT_TRY(user.check_provider());
  SHUNT_TRY(user.check_refusals());
  SHUNT_TRY(user.check_plan());
  SHUNT_TRY(user.check_graph());
  return world.barrier();
}

}  // namespace shunt::bench::gpu
