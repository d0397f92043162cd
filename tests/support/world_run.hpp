// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Runs dispatch and combine of a WorldCase on one rank's Buffer and compares every element with the
// reference. Failures come back as an Error, so that it works in threads and in child processes.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/error.hpp"
#include "engine/buffer_state.hpp"
#include "support/reference.hpp"

namespace shunt::testing {

inline BufferOptions options_of(const WorldCase& c) {
  BufferOptions o;
  o.ranks_per_node = c.ranks_per_node;
  o.experts = c.experts;
  o.topk = c.topk;
  o.hidden = c.hidden;
  o.dtype = c.dtype;
  o.wire_dtype = c.wire;
  for (int r = 0; r < c.world; ++r) o.max_tokens = std::max(o.max_tokens, c.tokens(r));
  o.heap_bytes = std::size_t{8} << 20;
  return o;
}

/// Buffers of one rank for one dispatch and its combine.
struct RankRun {
  RankRun(engine::BufferState& state, const WorldCase& world_case, bool windowed)
      : buffer(state), c(world_case), rank(state.rank()), in_window(windowed) {}

  engine::BufferState& buffer;
  const WorldCase& c;
  int rank;
  bool in_window;
  std::int64_t capacity = -1;  ///< −1: exactly what is needed.
  std::vector<std::byte> x, y, out, rows;
  std::vector<float> weights;
  std::vector<std::int32_t> got_ids;
  std::vector<float> got_weights;
  std::vector<RowOrigin> origins;
  void* window_rows = nullptr;
  std::vector<RowOrigin> expected;
  std::shared_ptr<engine::HandleState> handle;

  [[nodiscard]] std::size_t row_bytes() const {
    return static_cast<std::size_t>(c.hidden) * size_of(c.dtype);
  }

  void fill_input(int generation) {
    const std::int64_t n = c.tokens(rank);
    x.assign(static_cast<std::size_t>(n) * row_bytes(), std::byte{0});
    weights.resize(static_cast<std::size_t>(n * c.topk));
    for (std::int64_t t = 0; t < n; ++t) {
      for (std::int64_t e = 0; e < c.hidden; ++e) {
        store(x.data() + static_cast<std::size_t>(t) * row_bytes(),
              e,
              c.dtype,
              input_value(rank, t, e + generation));
      }
      for (int k = 0; k < c.topk; ++k) {
        weights[static_cast<std::size_t>(t * c.topk + k)] = weight_value(rank, t, k);
      }
    }
  }

  Result<DispatchOutput> make_output() {
    expected = expected_rows(c, rank);
    const std::int64_t room = capacity < 0 ? static_cast<std::int64_t>(expected.size()) : capacity;
    const auto n = static_cast<std::size_t>(room);
    got_ids.assign(n * static_cast<std::size_t>(c.topk), -7);
    got_weights.assign(n * static_cast<std::size_t>(c.topk), -7.0F);
    origins.assign(n, {-7, -7});
    DispatchOutput output{nullptr, got_ids.data(), got_weights.data(), origins.data(), room};
    if (in_window) {
      auto made = buffer.allocate(std::max<std::size_t>(n * row_bytes(), 16));
      if (!made) return Unexpected(made.error());
      window_rows = *made;
      std::memset(window_rows, 0x5a, n * row_bytes());
      output.rows = window_rows;
    } else {
      rows.assign(std::max<std::size_t>(n * row_bytes(), 16), std::byte{0x5a});
      output.rows = rows.data();
    }
    return output;
  }

  Status start_dispatch(int generation) {
    fill_input(generation);
    auto output = make_output();
    if (!output) return Unexpected(output.error());
    auto made =
        buffer.dispatch({x.data(), c.tokens(rank), c.ids[rank].data(), weights.data()}, *output);
    if (!made) return Unexpected(made.error());
    handle = *made;
    return {};
  }

  Status check_dispatch(int generation) {
    SHUNT_TRY(buffer.wait(*handle));
    const auto* data = static_cast<const std::byte*>(in_window ? window_rows : rows.data());
    const std::int64_t total = handle->total_rows();
    if (total != static_cast<std::int64_t>(expected.size())) {
      return usage_error("rank {} got {} rows, not {}", rank, total, expected.size());
    }
    const std::int64_t n = std::min<std::int64_t>(total, handle->capacity);
    const int per_rank = c.experts / c.world;
    for (std::int64_t r = 0; r < n; ++r) {
      const RowOrigin want = expected[static_cast<std::size_t>(r)];
      const RowOrigin got = origins[static_cast<std::size_t>(r)];
      if (got.rank != want.rank || got.token != want.token) {
        return usage_error("rank {} row {} comes from ({}, {}), not ({}, {})",
                           rank,
                           r,
                           got.rank,
                           got.token,
                           want.rank,
                           want.token);
      }
      for (std::int64_t e = 0; e < c.hidden; ++e) {
        const float value = load(data + static_cast<std::size_t>(r) * row_bytes(), e, c.dtype);
        const float right = round_to(input_value(want.rank, want.token, e + generation), c.dtype);
        if (value != right) {
          return usage_error("rank {} row {} element {} is {}, not {}", rank, r, e, value, right);
        }
      }
      for (int k = 0; k < c.topk; ++k) {
        const auto at = static_cast<std::size_t>(r * c.topk + k);
        const std::int32_t id = c.ids[static_cast<std::size_t>(want.rank)]
                                     [static_cast<std::size_t>(want.token * c.topk + k)];
        const bool mine = id >= 0 && c.rank_of(id) == rank;
        if (got_ids[at] != (mine ? id - rank * per_rank : -1) ||
            got_weights[at] != (mine ? weight_value(want.rank, want.token, k) : 0.0F)) {
          return usage_error("rank {} row {} slot {} has id {} weight {}",
                             rank,
                             r,
                             k,
                             got_ids[at],
                             got_weights[at]);
        }
      }
    }
    return {};
  }

  void run_experts() {
    const auto n =
        static_cast<std::size_t>(std::min<std::int64_t>(handle->total_rows(), handle->capacity));
    const auto* data = static_cast<const std::byte*>(in_window ? window_rows : rows.data());
    y.assign(std::max<std::size_t>(n * row_bytes(), 16), std::byte{0});
    for (std::size_t r = 0; r < n; ++r) {
      for (std::int64_t e = 0; e < c.hidden; ++e) {
        store(y.data() + r * row_bytes(),
              e,
              c.dtype,
              expert_value(load(data + r * row_bytes(), e, c.dtype), rank));
      }
    }
    // In place, as an expert layer with a registered output would.
    if (in_window && n > 0) std::memcpy(window_rows, y.data(), n * row_bytes());
  }

  Status start_combine() {
    out.assign(std::max<std::size_t>(static_cast<std::size_t>(c.tokens(rank)) * row_bytes(), 16),
               std::byte{0x5a});
    return buffer.combine(handle, {in_window ? window_rows : y.data(), out.data()});
  }

  template <typename Present>
  Status check_combine(int generation, Present&& present) {
    SHUNT_TRY(buffer.wait(*handle));
    for (std::int64_t t = 0; t < c.tokens(rank); ++t) {
      const std::vector<float> sums = expected_sum(c, rank, t, generation, present);
      for (std::int64_t e = 0; e < c.hidden; ++e) {
        const float value =
            load(out.data() + static_cast<std::size_t>(t) * row_bytes(), e, c.dtype);
        const float right = sums[static_cast<std::size_t>(e)];
        if (value != right) {
          return usage_error(
              "rank {} token {} element {} sums to {}, not {}", rank, t, e, value, right);
        }
      }
    }
    if (window_rows != nullptr) buffer.release(window_rows);
    window_rows = nullptr;
    return {};
  }

  Status round(int generation) {
    SHUNT_TRY(start_dispatch(generation));
    return finish_round(generation);
  }
  /// The same with the handle of an earlier round.
  Status replay_round(int generation) {
    fill_input(generation);
    auto output = make_output();
    if (!output) return Unexpected(output.error());
    SHUNT_TRY(buffer.replay(handle, x.data(), *output));
    return finish_round(generation);
  }
  Status finish_round(int generation) {
    SHUNT_TRY(check_dispatch(generation));
    run_experts();
    SHUNT_TRY(start_combine());
    return check_combine(generation, [](int, int, std::int64_t) { return true; });
  }
};

}  // namespace shunt::testing
