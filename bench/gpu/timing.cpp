// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/timing.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>

#include "base/error.hpp"
#include "engine/cuda/buffer.hpp"
#include "gpu/kernels.hpp"
#include "gpu/nvlink.hpp"
#include "routing/generate.hpp"

namespace shunt::bench::gpu {
namespace {

using engine::cuda::Buffer;
using engine::cuda::Handle;
using memory::cuda::check;
using memory::cuda::DeviceMemory;

constexpr int kWarmUp = 5;

/// A stream and two events around what is timed.
class Timer {
 public:
  ~Timer() {
    for (cudaEvent_t event : {begin_, end_}) {
      if (event != nullptr) (void)cudaEventDestroy(event);
    }
    for (cudaStream_t stream : {work_, signal_}) {
      if (stream != nullptr) (void)cudaStreamDestroy(stream);
    }
  }
  Status open() {
    SHUNT_TRY(check(cudaStreamCreateWithFlags(&work_, cudaStreamNonBlocking), "making a stream"));
    SHUNT_TRY(check(cudaStreamCreateWithFlags(&signal_, cudaStreamNonBlocking), "making a stream"));
    SHUNT_TRY(check(cudaEventCreate(&begin_), "making an event"));
    return check(cudaEventCreate(&end_), "making an event");
  }
  [[nodiscard]] cudaStream_t work() const { return work_; }

  /// Enqueues `launch` behind a gate on every rank, opens all gates at once, returns microseconds
  /// from the gate to the end of what was launched here. `flags`: of all ranks, as this one
  /// reaches them.
  Result<double> measure(bootstrap::World& world,
                         const std::vector<std::uint64_t*>& flags,
                         std::uint64_t* const* on_device,
                         const std::function<Status(cudaStream_t)>& launch) {
    ++shots_;
    launch_gate(flags[static_cast<std::size_t>(world.rank())], shots_, work_);
    SHUNT_TRY(check(cudaEventRecord(begin_, work_), "recording an event"));
    SHUNT_TRY(launch(work_));
    SHUNT_TRY(check(cudaEventRecord(end_, work_), "recording an event"));
    SHUNT_TRY(world.barrier());
    if (world.rank() == 0) launch_raise(on_device, world.size(), shots_, signal_);
    SHUNT_TRY(check(cudaStreamSynchronize(work_), "waiting for the device"));
    SHUNT_TRY(check(cudaGetLastError(), "launching a kernel"));
    float milliseconds = 0;
    SHUNT_TRY(check(cudaEventElapsedTime(&milliseconds, begin_, end_), "reading the events"));
    return static_cast<double>(milliseconds) * 1000.0;
  }

 private:
  cudaStream_t work_ = nullptr;
  cudaStream_t signal_ = nullptr;
  cudaEvent_t begin_ = nullptr;
  cudaEvent_t end_ = nullptr;
  std::uint64_t shots_ = 0;
};

/// [tokens + 1]: prefix sums of the rows that each token goes to.
std::vector<std::int32_t> rows_of_tokens(const plan::Plan& plan) {
  std::vector<std::int32_t> begin(static_cast<std::size_t>(plan.tokens) + 1, 0);
  for (std::size_t i = 0; i < plan.own_tokens.size(); ++i) {
    for (int f = 0; f < plan.fanout; ++f) {
      if (plan.own_rows[i * static_cast<std::size_t>(plan.fanout) + static_cast<std::size_t>(f)]
              .local >= 0) {
        ++begin[static_cast<std::size_t>(plan.own_tokens[i]) + 1];
      }
    }
  }
  for (std::size_t t = 1; t < begin.size(); ++t) begin[t] += begin[t - 1];
  return begin;
}

/// Everything of one rank that lives through a timing.
class Bench {
 public:
  Bench(bootstrap::World& world, const TimingOptions& options) : world_(world), o_(options) {}

  Result<Samples> run() {
    SHUNT_TRY(set_up());
    SHUNT_TRY(place());
    SHUNT_TRY(time_all());
    if (o_.verify) SHUNT_TRY(verify());
    SHUNT_TRY(measure_memory());
    SHUNT_TRY(world_.barrier());
    return samples_;
  }

 private:
  [[nodiscard]] std::size_t row_bytes() const {
    return static_cast<std::size_t>(o_.hidden) * size_of(o_.dtype);
  }
  [[nodiscard]] Rows rows_at(void* data, std::int64_t count) const {
    return {data, count, o_.hidden, o_.dtype};
  }

  Status set_up() {
    BufferOptions b;
    b.ranks_per_node = world_.size();
    b.experts = o_.experts;
    b.topk = o_.topk;
    b.hidden = o_.hidden;
    b.dtype = o_.dtype;
    b.wire_dtype = o_.dtype;
    // Room for every row that this rank could get if each token of the world came here once.
    capacity_ = o_.tokens * world_.size();
    b.heap_bytes =
        static_cast<std::size_t>(capacity_) * (row_bytes() + 256) + (std::size_t{4} << 20);
    engine::cuda::Geometry geometry;
    geometry.blocks = o_.blocks;
    geometry.warps = o_.warps;
    geometry.row_warps = o_.row_warps;
    engine::cuda::Hooks hooks;
    hooks.recorder = o_.record ? &recorder_ : nullptr;
    hooks.heap = o_.heap;
    hooks.ahead = o_.ahead;
    auto buffer = Buffer::create(world_, b, geometry, hooks);
    if (!buffer) return Unexpected(std::move(buffer).error());
    buffer_ = std::move(*buffer);
    auto routing = routing::generate({}, o_.tokens, o_.topk, o_.experts, 1, world_.rank());
    if (!routing) return Unexpected(std::move(routing).error());
    auto handle = buffer_->plan(routing->view());
    if (!handle) return Unexpected(std::move(handle).error());
    handle_ = std::move(*handle);
    SHUNT_TRY(set_up_planning(routing->view()));
    return timer_.open();
  }

  /// The same routing once more, to be planned on the device.
  Status set_up_planning(const routing::RoutingView& routing) {
    auto handle = buffer_->make_handle(o_.tokens);
    if (!handle) return Unexpected(std::move(handle).error());
    fresh_ = std::move(*handle);
    const std::size_t bytes = static_cast<std::size_t>(o_.tokens * o_.topk) * 4;
    SHUNT_TRY(allocate(bytes, &ids_));
    SHUNT_TRY(allocate(bytes, &weights_));
    SHUNT_TRY(check(cudaMemcpy(ids_.data(), routing.ids, bytes, cudaMemcpyHostToDevice),
                    "copying the ids"));
    return check(cudaMemcpy(weights_.data(), routing.weights, bytes, cudaMemcpyHostToDevice),
                 "copying the weights");
  }
  Status plan_fresh(cudaStream_t stream) {
    return buffer_->plan_on_device(*fresh_,
                                   {o_.tokens,
                                    o_.topk,
                                    reinterpret_cast<const std::int32_t*>(ids_.data()),
                                    reinterpret_cast<const float*>(weights_.data())},
                                   stream);
  }

  Status allocate(std::size_t bytes, DeviceMemory* to) {
    auto made = DeviceMemory::create(bytes);
    if (!made) return Unexpected(std::move(made).error());
    *to = std::move(*made);
    return {};
  }

  Status place() {
    auto flag = buffer_->allocate(64);
    auto rows = buffer_->allocate(static_cast<std::size_t>(capacity_) * row_bytes());
    auto ids = buffer_->allocate(static_cast<std::size_t>(capacity_ * o_.topk) * 4);
    auto weights = buffer_->allocate(static_cast<std::size_t>(capacity_ * o_.topk) * 4);
    auto origins = buffer_->allocate(static_cast<std::size_t>(capacity_) * sizeof(RowOrigin));
    for (const auto* part : {&flag, &rows, &ids, &weights, &origins}) {
      if (!*part) return Unexpected(part->error());
    }
    output_ = {*rows,
               static_cast<std::int32_t*>(*ids),
               static_cast<float*>(*weights),
               static_cast<RowOrigin*>(*origins),
               capacity_};
    // Equal requests in equal order lie at equal offsets.
    const std::ptrdiff_t offset = static_cast<std::byte*>(*flag) - buffer_->heap().base();
    for (int r = 0; r < world_.size(); ++r) {
      flags_.push_back(reinterpret_cast<std::uint64_t*>(buffer_->heap().window(r).base + offset));
    }
    SHUNT_TRY(allocate(flags_.size() * sizeof(std::uint64_t*), &flag_list_));
    SHUNT_TRY(check(cudaMemcpy(flag_list_.data(),
                               flags_.data(),
                               flags_.size() * sizeof(std::uint64_t*),
                               cudaMemcpyHostToDevice),
                    "copying the flags' addresses"));
    const std::vector<std::int32_t> begin = rows_of_tokens(handle_->plan());
    const auto tokens = static_cast<std::size_t>(o_.tokens);
    SHUNT_TRY(allocate(tokens * row_bytes(), &input_));
    SHUNT_TRY(allocate(tokens * row_bytes(), &sums_));
    SHUNT_TRY(allocate(static_cast<std::size_t>(begin.back()) * row_bytes(), &plain_));
    SHUNT_TRY(allocate(begin.size() * sizeof(std::int32_t), &begin_));
    SHUNT_TRY(allocate(sizeof(unsigned long long), &wrong_));
    SHUNT_TRY(check(cudaMemcpy(begin_.data(),
                               begin.data(),
                               begin.size() * sizeof(std::int32_t),
                               cudaMemcpyHostToDevice),
                    "copying the row lists"));
    launch_fill(rows_at(input_.data(), o_.tokens), world_.rank(), nullptr);
    samples_.input_bytes = static_cast<double>(tokens * row_bytes());
    samples_.output_bytes =
        static_cast<double>(static_cast<std::size_t>(begin.back()) * row_bytes());
    SHUNT_TRY(check(cudaDeviceSynchronize(), "filling the input"));
    return world_.barrier();
  }

  Status sample(std::vector<double>* to, const std::function<Status(cudaStream_t)>& launch) {
    for (int i = 0; i < kWarmUp + o_.iterations; ++i) {
      auto time = timer_.measure(
          world_, flags_, reinterpret_cast<std::uint64_t* const*>(flag_list_.data()), launch);
      if (!time) return Unexpected(std::move(time).error());
      if (i >= kWarmUp) to->push_back(*time);
    }
    return buffer_->status();
  }

  /// What `launch` does to the bytes that this device sends and receives over NVLink. The first
  /// rank of a device reads, while no rank works.
  Status sample_counted(std::vector<double>* to,
                        LinkBytes* moved,
                        const std::function<Status(cudaStream_t)>& launch) {
    const bool reads = o_.gpus > 1 && world_.rank() < o_.gpus;
    SHUNT_TRY(world_.barrier());
    const auto before = reads ? read_nvlink(world_.rank()) : std::nullopt;
    SHUNT_TRY(world_.barrier());
    SHUNT_TRY(sample(to, launch));
    SHUNT_TRY(world_.barrier());
    const auto after = reads ? read_nvlink(world_.rank()) : std::nullopt;
    if (before && after) {
      *moved = {after->sent - before->sent, after->received - before->received};
    }
    return world_.barrier();
  }

  Status time_all() {
    const auto* begin = reinterpret_cast<const std::int32_t*>(begin_.data());
    // Counts are exchanged once, before anything is timed.
    SHUNT_TRY(buffer_->dispatch(*handle_, input_.data(), output_, timer_.work()));
    SHUNT_TRY(buffer_->wait(timer_.work()));
    LinkBytes of_dispatch;
    LinkBytes of_combine;
    SHUNT_TRY(sample_counted(&samples_.dispatch, &of_dispatch, [&](cudaStream_t stream) {
      return buffer_->dispatch(*handle_, input_.data(), output_, stream);
    }));
    SHUNT_TRY(sample_counted(&samples_.combine, &of_combine, [&](cudaStream_t stream) {
      return buffer_->combine(*handle_, {output_.rows, sums_.data()}, stream);
    }));
    SHUNT_TRY(time_uncached());
    samples_.dispatch_sent = of_dispatch.sent;
    samples_.combine_received = of_combine.received;
    samples_.counted_operations = kWarmUp + o_.iterations;
    SHUNT_TRY(sample(&samples_.launch, [&](cudaStream_t stream) -> Status {
      launch_nothing(o_.blocks, o_.warps, stream);
      return {};
    }));
    if (o_.gpus > 1) SHUNT_TRY(time_links());
    SHUNT_TRY(sample(&samples_.copy_mix, [&](cudaStream_t stream) -> Status {
      launch_copy_mix(
          plain_.data(), input_.data(), begin, o_.tokens, row_bytes(), o_.blocks, stream);
      return {};
    }));
    return sample(&samples_.read_mix, [&](cudaStream_t stream) -> Status {
      launch_read_mix(
          plain_sums(), plain_.data(), begin, o_.tokens, row_bytes(), o_.blocks, stream);
      return {};
    });
  }

  /// From ids on the device to delivered rows.
  Status time_uncached() {
    const auto plan = [&](cudaStream_t stream) { return plan_fresh(stream); };
    const auto plan_and_dispatch = [&](cudaStream_t stream) -> Status {
      SHUNT_TRY(plan_fresh(stream));
      return buffer_->dispatch(*fresh_, input_.data(), output_, stream);
    };
    SHUNT_TRY(sample(&samples_.plan, plan));
    return sample(&samples_.uncached, plan_and_dispatch);
  }

  /// Rows of the input to and from the next device, as many as fall to a rank there.
  Status time_links() {
    const plan::Plan& plan = handle_->plan();
    for (int r = 0; r < world_.size(); ++r) {
      if (r % o_.gpus == world_.rank() % o_.gpus) continue;
      const auto rows = static_cast<double>(plan.rows_to_rank[static_cast<std::size_t>(r)]);
      samples_.link_row_bytes += rows * static_cast<double>(row_bytes());
      samples_.link_extra_bytes += rows * (8.0 * o_.topk + sizeof(RowOrigin));
    }
    std::vector<std::int32_t> each(static_cast<std::size_t>(o_.tokens) + 1);
    std::iota(each.begin(), each.end(), 0);
    DeviceMemory list;
    SHUNT_TRY(allocate(each.size() * sizeof(std::int32_t), &list));
    SHUNT_TRY(check(
        cudaMemcpy(list.data(), each.data(), each.size() * sizeof(std::int32_t), cudaMemcpyDefault),
        "copying a row list"));
    const int peer = (world_.rank() + 1) % world_.size();
    const std::ptrdiff_t offset = static_cast<std::byte*>(output_.rows) - buffer_->heap().base();
    // Every rank has rows of its own in the peer's output.
    std::byte* there = buffer_->heap().window(peer).base + offset;
    const auto* begin = reinterpret_cast<const std::int32_t*>(list.data());
    SHUNT_TRY(sample(&samples_.push, [&](cudaStream_t stream) -> Status {
      launch_copy_mix(there, input_.data(), begin, o_.tokens, row_bytes(), o_.blocks, stream);
      return {};
    }));
    return sample(&samples_.pull, [&](cudaStream_t stream) -> Status {
      launch_copy_mix(plain_.data(), there, begin, o_.tokens, row_bytes(), o_.blocks, stream);
      return {};
    });
  }

  /// Poisons the outputs, runs both directions once more and compares everything.
  Status verify() {
    const cudaStream_t stream = timer_.work();
    auto counts = buffer_->rows_from(*handle_);
    if (!counts) return Unexpected(std::move(counts).error());
    std::int64_t rows = 0;
    for (const std::int64_t n : *counts) rows += n;
    SHUNT_TRY(check(cudaMemset(output_.rows, 0x5a, static_cast<std::size_t>(rows) * row_bytes()),
                    "poisoning the rows"));
    SHUNT_TRY(check(cudaMemset(output_.origins, 0x5a, static_cast<std::size_t>(rows) * 8),
                    "poisoning the origins"));
    SHUNT_TRY(check(cudaMemset(sums_.data(), 0x5a, sums_.bytes()), "poisoning the sums"));
    SHUNT_TRY(check(cudaDeviceSynchronize(), "poisoning the outputs"));
    SHUNT_TRY(world_.barrier());
    SHUNT_TRY(buffer_->dispatch(*handle_, input_.data(), output_, stream));
    SHUNT_TRY(buffer_->combine(*handle_, {output_.rows, sums_.data()}, stream));
    SHUNT_TRY(buffer_->wait(stream));
    auto* wrong = reinterpret_cast<unsigned long long*>(wrong_.data());
    launch_verify_rows(rows_at(output_.rows, rows),
                       reinterpret_cast<const std::int32_t*>(output_.origins),
                       wrong,
                       stream);
    launch_verify_sums(rows_at(sums_.data(), o_.tokens),
                       reinterpret_cast<const std::int32_t*>(begin_.data()),
                       world_.rank(),
                       wrong,
                       stream);
    SHUNT_TRY(buffer_->wait(stream));
    return check(cudaMemcpy(&samples_.wrong, wrong, sizeof(samples_.wrong), cudaMemcpyDeviceToHost),
                 "reading the number of differences");
  }

  /// The device's memory alone: one large copy by the driver, nobody else at work.
  Status measure_memory() {
    SHUNT_TRY(world_.barrier());
    Status status;
    if (world_.rank() == 0) status = copy_by_driver();
    SHUNT_TRY(world_.barrier());
    return status;
  }
  Status copy_by_driver() {
    const std::size_t bytes = plain_.bytes() / 2;
    std::vector<double> rates;
    cudaEvent_t begin = nullptr;
    cudaEvent_t end = nullptr;
    SHUNT_TRY(check(cudaEventCreate(&begin), "making an event"));
    SHUNT_TRY(check(cudaEventCreate(&end), "making an event"));
    constexpr int kCopies = 10;
    for (int i = 0; i < 10; ++i) {
      SHUNT_TRY(check(cudaEventRecord(begin, timer_.work()), "recording an event"));
      for (int c = 0; c < kCopies; ++c) {
        SHUNT_TRY(check(cudaMemcpyAsync(plain_.data() + bytes,
                                        plain_.data(),
                                        bytes,
                                        cudaMemcpyDeviceToDevice,
                                        timer_.work()),
                        "copying on the device"));
      }
      SHUNT_TRY(check(cudaEventRecord(end, timer_.work()), "recording an event"));
      SHUNT_TRY(check(cudaStreamSynchronize(timer_.work()), "waiting for the device"));
      float milliseconds = 0;
      SHUNT_TRY(check(cudaEventElapsedTime(&milliseconds, begin, end), "reading the events"));
      rates.push_back(2.0 * kCopies * static_cast<double>(bytes) /
                      (static_cast<double>(milliseconds) * 1000.0));
    }
    (void)cudaEventDestroy(begin);
    (void)cudaEventDestroy(end);
    std::sort(rates.begin(), rates.end());
    samples_.memory_bytes_per_us = rates[rates.size() / 2];
    return {};
  }

  /// Written by read_mix: the sums of combine are checked, so they are left alone.
  [[nodiscard]] std::byte* plain_sums() const { return static_cast<std::byte*>(output_.rows); }

  bootstrap::World& world_;
  const TimingOptions& o_;
  std::int64_t capacity_ = 0;
  record::Recorder recorder_{1U << 10};
  std::unique_ptr<Buffer> buffer_;
  std::unique_ptr<Handle> handle_;
  std::unique_ptr<Handle> fresh_;  ///< Planned anew on the device, from these:
  DeviceMemory ids_;
  DeviceMemory weights_;
  Timer timer_;
  DispatchOutput output_;
  std::vector<std::uint64_t*> flags_;  ///< [world]: gates, each in its rank's heap.
  DeviceMemory flag_list_;             ///< The same for a kernel.
  DeviceMemory input_;
  DeviceMemory sums_;
  DeviceMemory plain_;
  DeviceMemory begin_;
  DeviceMemory wrong_;
  Samples samples_;
};

}  // namespace

Result<Samples> run_timing(bootstrap::World& world, const TimingOptions& options) {
  Bench bench(world, options);
  return bench.run();
}

}  // namespace shunt::bench::gpu
