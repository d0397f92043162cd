// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// The names of rows and events in an exported timeline, made and read back: the exporter and the
// reader of its files agree here. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "record/record.hpp"

namespace shunt::trace {

inline constexpr const char* kArrivalsRow = "progress thread: arrivals";
inline constexpr const char* kPutEvent = "put";
inline constexpr const char* kCountPutEvent = "put: counts";
inline constexpr const char* kLostPutEvent = "put (never completed)";
inline constexpr const char* kArrivalEvent = "arrival";
inline constexpr const char* kCountArrivalEvent = "arrival: counts";

/// "rank 3 · node 1"
[[nodiscard]] std::string process_name(int rank, int node);
/// "block 2 · warp 1", "block 2 · warp 1 (overlap 1)"
[[nodiscard]] std::string block_row(int block, int warp, int level);
/// "→ rank 5 · qp 0", "→ rank 5 · qp 0 (2)"
[[nodiscard]] std::string put_row(int peer, int qp, int lane);
/// The phase's name, "wait: credit", "copy" …
[[nodiscard]] const char* span_name(const record::Span& span);

/// What a name says; nullopt (or false) for names of other things.
[[nodiscard]] std::optional<int> rank_of_process(std::string_view name);
struct BlockRow {
  int block = 0;
  int warp = 0;
};
[[nodiscard]] std::optional<BlockRow> parse_block_row(std::string_view name);
struct PutRow {
  int peer = 0;
  int qp = 0;
};
[[nodiscard]] std::optional<PutRow> parse_put_row(std::string_view name);
/// Sets kind and reason.
[[nodiscard]] bool parse_span_name(std::string_view name, record::Span& span);

}  // namespace shunt::trace
