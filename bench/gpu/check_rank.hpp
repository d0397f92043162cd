// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// One rank of a correctness case. in: Buffer, Case, routing → out: dispatches and combines run,
// every element held against the reference.
#pragma once

#include <algorithm>
#include <bit>
#include <map>
#include <memory>
#include <vector>

#include "base/error.hpp"
#include "engine/cuda/buffer.hpp"
#include "gpu/check_case.hpp"
#include "support/reference.hpp"

namespace shunt::bench::gpu {

using engine::cuda::Buffer;
using engine::cuda::Handle;
using memory::cuda::check;

/// One rank of one case: a handle, its memory, and the comparison.
class Rank {
 public:
  Rank(Buffer& buffer, const Case& setup, const WorldCase& world)
      : buffer_(buffer), case_(setup), world_(&world), rank_(buffer.rank()) {}

  Status prepare() {
    const std::int64_t n = world_->tokens(rank_);
    for (std::int64_t t = 0; t < n; ++t) {
      for (int k = 0; k < world_->topk; ++k) weights_.push_back(testing::weight_value(rank_, t, k));
    }
    SHUNT_TRY(case_.plan_on_device ? make_handle() : plan_on_host());
    for (int at = 0; at < world_->world; ++at) capacities_.push_back(capacity_of(at));
    expected_ = testing::expected_rows(*world_, rank_);
    const auto rows = static_cast<std::size_t>(capacity());
    output_.capacity = capacity();
    SHUNT_TRY(take(rows * row_bytes(), &output_.rows));
    SHUNT_TRY(take(rows * slot_bytes(), &output_.ids));
    SHUNT_TRY(take(rows * slot_bytes(), &output_.weights));
    SHUNT_TRY(take(rows * sizeof(RowOrigin), &output_.origins));
    auto input = memory::cuda::DeviceMemory::create(static_cast<std::size_t>(n) * row_bytes());
    if (!input) return Unexpected(std::move(input).error());
    input_ = std::move(*input);
    auto sums = memory::cuda::DeviceMemory::create(static_cast<std::size_t>(n) * row_bytes());
    if (!sums) return Unexpected(std::move(sums).error());
    sums_ = std::move(*sums);
    return {};
  }

  Status start_dispatch(int generation) {
    SHUNT_TRY(fill_input(generation));
    return launch_dispatch();
  }
  /// The same with the input that is there. Waits for nothing.
  Status launch_dispatch() {
    if (case_.plan_on_device) SHUNT_TRY(start_plan(nullptr));
    return buffer_.dispatch(*handle_, input_.data(), output_, nullptr);
  }

  /// Everything of a round without the experts between, as a graph captures it.
  Status start_all(cudaStream_t stream) {
    SHUNT_TRY(start_plan(stream));
    SHUNT_TRY(buffer_.dispatch(*handle_, input_.data(), output_, stream));
    return buffer_.combine(*handle_, {output_.rows, sums_.data()}, stream);
  }

  Status fill_input(int generation) {
    std::vector<std::byte> x(static_cast<std::size_t>(world_->tokens(rank_)) * row_bytes());
    for (std::int64_t t = 0; t < world_->tokens(rank_); ++t) {
      for (std::int64_t e = 0; e < world_->hidden; ++e) {
        testing::store(x.data() + static_cast<std::size_t>(t) * row_bytes(),
                       e,
                       world_->dtype,
                       testing::input_value(rank_, t, e + generation));
      }
    }
    SHUNT_TRY(check(cudaMemcpy(input_.data(), x.data(), x.size(), cudaMemcpyHostToDevice),
                    "copying the input"));
    return check(cudaMemset(sums_.data(), 0x5a, sums_.bytes()), "poisoning the sums");
  }

  /// The ids of another world with as many tokens, where the device plans from them.
  Status change_routing(const WorldCase& world) {
    world_ = &world;
    expected_ = testing::expected_rows(world, rank_);
    return check(cudaMemcpy(ids_.data(), host_ids(), slots() * 4, cudaMemcpyHostToDevice),
                 "copying the ids");
  }

  /// Compares what has arrived and replaces it by what the experts make of it.
  Status finish_dispatch(int generation) {
    SHUNT_TRY(buffer_.wait(nullptr));
    if (case_.plan_on_device) SHUNT_TRY(compare_plan());
    const auto counts = buffer_.rows_from(*handle_);
    if (!counts) return Unexpected(counts.error());
    for (int source = 0; source < world_->world; ++source) {
      const auto right = std::count_if(
          expected_.begin(), expected_.end(), [&](const RowOrigin& o) { return o.rank == source; });
      if ((*counts)[static_cast<std::size_t>(source)] != right) {
        return wrong("{} rows from rank {}, not {}",
                     (*counts)[static_cast<std::size_t>(source)],
                     source,
                     right);
      }
    }
    const auto rows = static_cast<std::size_t>(
        std::min<std::int64_t>(capacity(), static_cast<std::int64_t>(expected_.size())));
    std::vector<std::byte> data(rows * row_bytes());
    std::vector<std::int32_t> ids(rows * static_cast<std::size_t>(world_->topk));
    std::vector<float> weights(ids.size());
    std::vector<RowOrigin> origins(rows);
    SHUNT_TRY(fetch(data.data(), output_.rows, data.size()));
    SHUNT_TRY(fetch(ids.data(), output_.ids, ids.size() * sizeof(std::int32_t)));
    SHUNT_TRY(fetch(weights.data(), output_.weights, weights.size() * sizeof(float)));
    SHUNT_TRY(fetch(origins.data(), output_.origins, rows * sizeof(RowOrigin)));
    for (std::size_t r = 0; r < rows; ++r) {
      SHUNT_TRY(compare_row(r, generation, data.data() + r * row_bytes(), origins[r]));
      SHUNT_TRY(compare_slots(r, ids.data(), weights.data()));
    }
    for (std::size_t r = 0; r < rows; ++r) {
      std::byte* row = data.data() + r * row_bytes();
      for (std::int64_t e = 0; e < world_->hidden; ++e) {
        testing::store(row,
                       e,
                       world_->dtype,
                       testing::expert_value(testing::load(row, e, world_->dtype), rank_));
      }
    }
    return check(cudaMemcpy(output_.rows, data.data(), data.size(), cudaMemcpyHostToDevice),
                 "copying the experts' outputs");
  }

  Status start_combine() {
    return buffer_.combine(*handle_, {output_.rows, sums_.data()}, nullptr);
  }

  Status finish_combine(int generation) {
    SHUNT_TRY(buffer_.wait(nullptr));
    std::vector<std::byte> sums(static_cast<std::size_t>(world_->tokens(rank_)) * row_bytes());
    SHUNT_TRY(fetch(sums.data(), sums_.data(), sums.size()));
    const auto present = [&](int at, int source, std::int64_t token) {
      const auto rows = testing::expected_rows(*world_, at);
      const auto row = std::find_if(rows.begin(), rows.end(), [&](const RowOrigin& o) {
        return o.rank == source && o.token == token;
      });
      return row - rows.begin() < capacities_[static_cast<std::size_t>(at)];
    };
    const auto always = [](int, int, std::int64_t) { return true; };
    for (std::int64_t t = 0; t < world_->tokens(rank_); ++t) {
      const std::vector<float> right =
          case_.capacity < 0 ? testing::expected_sum(*world_, rank_, t, generation, always)
                             : testing::expected_sum(*world_, rank_, t, generation, present);
      const std::byte* row = sums.data() + static_cast<std::size_t>(t) * row_bytes();
      for (std::int64_t e = 0; e < world_->hidden; ++e) {
        const float value = testing::load(row, e, world_->dtype);
        const float want = right[static_cast<std::size_t>(e)];
        if (std::bit_cast<std::uint32_t>(value) != std::bit_cast<std::uint32_t>(want)) {
          return wrong("token {} element {} sums to {}, not {}", t, e, value, want);
        }
      }
    }
    return {};
  }

  /// After start_all: every node's partial is as many equal rows as the token has ranks there.
  Status compare_plain_sums(int generation) const {
    std::vector<std::byte> sums(static_cast<std::size_t>(world_->tokens(rank_)) * row_bytes());
    SHUNT_TRY(fetch(sums.data(), sums_.data(), sums.size()));
    for (std::int64_t t = 0; t < world_->tokens(rank_); ++t) {
      std::map<int, int> copies;
      for (const int r : world_->ranks_of(rank_, t)) ++copies[r / world_->ranks_per_node];
      const std::byte* row = sums.data() + static_cast<std::size_t>(t) * row_bytes();
      for (std::int64_t e = 0; e < world_->hidden; ++e) {
        const float x =
            testing::round_to(testing::input_value(rank_, t, e + generation), world_->dtype);
        float want = 0;
        for (const auto& [node, ranks] : copies) {
          want += testing::round_to(static_cast<float>(ranks) * x, world_->wire);
        }
        want = testing::round_to(want, world_->dtype);
        const float value = testing::load(row, e, world_->dtype);
        if (value != want) return wrong("token {} element {} is {}, not {}", t, e, value, want);
      }
    }
    return {};
  }

 private:
  Status plan_on_host() {
    auto handle = buffer_.plan({world_->tokens(rank_), world_->topk, host_ids(), weights_.data()});
    if (!handle) return Unexpected(std::move(handle).error());
    handle_ = std::move(*handle);
    return {};
  }

  /// With room for a token more, and with a smaller plan left in it.
  Status make_handle() {
    auto handle = buffer_.make_handle(*std::max_element(case_.tokens.begin(), case_.tokens.end()) +
                                      (world_->world == world_->ranks_per_node ? 1 : 0));
    if (!handle) return Unexpected(std::move(handle).error());
    handle_ = std::move(*handle);
    for (memory::cuda::DeviceMemory* memory : {&ids_, &device_weights_}) {
      auto made = memory::cuda::DeviceMemory::create(slots() * 4);
      if (!made) return Unexpected(std::move(made).error());
      *memory = std::move(*made);
    }
    SHUNT_TRY(check(
        cudaMemcpy(device_weights_.data(), weights_.data(), slots() * 4, cudaMemcpyHostToDevice),
        "copying the weights"));
    SHUNT_TRY(change_routing(*world_));
    return start_plan_of(world_->tokens(rank_) / 2, nullptr);
  }
  Status start_plan(cudaStream_t stream) { return start_plan_of(world_->tokens(rank_), stream); }
  Status start_plan_of(std::int64_t tokens, cudaStream_t stream) {
    return buffer_.plan_on_device(*handle_,
                                  {tokens,
                                   world_->topk,
                                   reinterpret_cast<const std::int32_t*>(ids_.data()),
                                   reinterpret_cast<const float*>(device_weights_.data())},
                                  stream);
  }

  /// What the device has planned, against what the host plans: the same bit for bit.
  Status compare_plan() const {
    const auto planned = buffer_.read_plan(*handle_);
    if (!planned) return Unexpected(planned.error());
    const auto right =
        plan::make_plan({world_->tokens(rank_), world_->topk, host_ids(), weights_.data()},
                        buffer_.shape(),
                        rank_,
                        {world_->experts, case_.chunk_tokens});
    if (!right) return Unexpected(right.error());
    if (*planned == *right) return {};
    return wrong("the device plans otherwise than the host");
  }

  [[nodiscard]] const std::int32_t* host_ids() const {
    return world_->ids[static_cast<std::size_t>(rank_)].data();
  }
  [[nodiscard]] std::size_t slots() const { return weights_.size(); }
  /// A routing that may change gets room for all tokens.
  [[nodiscard]] std::int64_t capacity_of(int at) const {
    if (case_.plan_on_device && case_.capacity < 0) {
      std::int64_t all = 0;
      for (int r = 0; r < world_->world; ++r) all += world_->tokens(r);
      return all;
    }
    const auto total = testing::expected_rows(*world_, at).size();
    return case_.capacity < 0
               ? static_cast<std::int64_t>(total)
               : static_cast<std::int64_t>(static_cast<double>(total) * case_.capacity);
  }
  [[nodiscard]] std::size_t row_bytes() const {
    return static_cast<std::size_t>(world_->hidden) * size_of(world_->dtype);
  }
  [[nodiscard]] std::size_t slot_bytes() const {
    return static_cast<std::size_t>(world_->topk) * sizeof(std::int32_t);
  }
  [[nodiscard]] std::int64_t capacity() const {
    return capacities_[static_cast<std::size_t>(rank_)];
  }

  template <typename T>
  Status take(std::size_t bytes, T** to) {
    auto made = buffer_.allocate(std::max<std::size_t>(bytes, 16));
    if (!made) return Unexpected(std::move(made).error());
    *to = static_cast<T*>(*made);
    return check(cudaMemset(*to, 0x5a, bytes), "poisoning the output");
  }
  static Status fetch(void* to, const void* from, std::size_t bytes) {
    return check(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost), "reading the output");
  }
  template <typename... Args>
  Status wrong(fmt::format_string<Args...> text, Args&&... args) const {
    return fail(ErrorCode::kCorrupt,
                ErrorScope::kOperation,
                "{}, rank {}: {}",
                case_.name,
                rank_,
                fmt::format(text, std::forward<Args>(args)...));
  }

  Status compare_row(std::size_t r,
                     int generation,
                     const std::byte* row,
                     const RowOrigin& origin) const {
    const RowOrigin want = expected_[r];
    if (origin.rank != want.rank || origin.token != want.token) {
      return wrong("row {} comes from ({}, {}), not ({}, {})",
                   r,
                   origin.rank,
                   origin.token,
                   want.rank,
                   want.token);
    }
    for (std::int64_t e = 0; e < world_->hidden; ++e) {
      const float value = testing::load(row, e, world_->dtype);
      const float right = testing::round_to(
          testing::input_value(want.rank, want.token, e + generation), world_->dtype);
      if (value != right) return wrong("row {} element {} is {}, not {}", r, e, value, right);
    }
    return {};
  }

  Status compare_slots(std::size_t r, const std::int32_t* ids, const float* weights) const {
    const RowOrigin want = expected_[r];
    const int per_rank = world_->experts / world_->world;
    for (int k = 0; k < world_->topk; ++k) {
      const std::size_t at =
          r * static_cast<std::size_t>(world_->topk) + static_cast<std::size_t>(k);
      const std::int32_t id =
          world_
              ->ids[static_cast<std::size_t>(want.rank)]
                   [static_cast<std::size_t>(want.token) * static_cast<std::size_t>(world_->topk) +
                    static_cast<std::size_t>(k)];
      const bool mine = id >= 0 && world_->rank_of(id) == rank_;
      if (ids[at] != (mine ? id - rank_ * per_rank : -1) ||
          weights[at] != (mine ? testing::weight_value(want.rank, want.token, k) : 0.0F)) {
        return wrong("row {} slot {} has id {} weight {}", r, k, ids[at], weights[at]);
      }
    }
    return {};
  }

  Buffer& buffer_;
  const Case& case_;
  const WorldCase* world_;
  const int rank_;
  std::unique_ptr<Handle> handle_;
  std::vector<float> weights_;
  std::vector<std::int64_t> capacities_;
  std::vector<RowOrigin> expected_;
  DispatchOutput output_;
  memory::cuda::DeviceMemory ids_;  ///< These two: of a plan made on the device.
  memory::cuda::DeviceMemory device_weights_;
  memory::cuda::DeviceMemory input_;
  memory::cuda::DeviceMemory sums_;
};

}  // namespace shunt::bench::gpu
