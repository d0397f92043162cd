// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "trace/track_names.hpp"

#include <array>
#include <charconv>

#include <fmt/format.h>

namespace shunt::trace {
namespace {

using record::Span;
using record::SpanKind;
using record::WaitReason;

constexpr std::string_view kPutArrow = "→ rank ";

constexpr std::array kReasons{WaitReason::kNone,
                              WaitReason::kCounts,
                              WaitReason::kArrival,
                              WaitReason::kCredit,
                              WaitReason::kStaging,
                              WaitReason::kPost,
                              WaitReason::kPeerDone};

const char* wait_name(WaitReason reason) {
  switch (reason) {
    case WaitReason::kCounts:
      return "wait: counts";
    case WaitReason::kArrival:
      return "wait: arrival";
    case WaitReason::kCredit:
      return "wait: credit";
    case WaitReason::kStaging:
      return "wait: staging";
    case WaitReason::kPost:
      return "wait: post";
    case WaitReason::kPeerDone:
      return "wait: peer_done";
    case WaitReason::kNone:
      break;
  }
  return "wait";
}

/// Takes `word` off the front of `text`.
bool take(std::string_view& text, std::string_view word) {
  if (text.substr(0, word.size()) != word) return false;
  text.remove_prefix(word.size());
  return true;
}

bool take_number(std::string_view& text, int& value) {
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec != std::errc() || value < -1) return false;
  text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()));
  return true;
}

/// "FIRST12SECOND3", and after it nothing or " (…)".
bool take_pair(
    std::string_view text, std::string_view first, int& a, std::string_view second, int& b) {
  return take(text, first) && take_number(text, a) && take(text, second) && take_number(text, b) &&
         (text.empty() || text.substr(0, 2) == " (");
}

}  // namespace

std::string process_name(int rank, int node) {
  return fmt::format("rank {} · node {}", rank, node);
}

std::string block_row(int block, int warp, int level) {
  std::string name = fmt::format("block {} · warp {}", block, warp);
  if (level > 0) name += fmt::format(" (overlap {})", level);
  return name;
}

std::string put_row(int peer, int qp, int lane) {
  std::string name = fmt::format("{}{} · qp {}", kPutArrow, peer, qp);
  if (lane > 0) name += fmt::format(" ({})", lane + 1);
  return name;
}

const char* span_name(const Span& span) {
  if (span.kind == SpanKind::kPhase) return record::to_string(span.phase);
  return span.kind == SpanKind::kWait ? wait_name(span.reason) : record::to_string(span.kind);
}

std::optional<int> rank_of_process(std::string_view name) {
  int rank = 0;
  int node = 0;
  if (!take_pair(name, "rank ", rank, " · node ", node)) return std::nullopt;
  return rank;
}

std::optional<BlockRow> parse_block_row(std::string_view name) {
  BlockRow row;
  if (!take_pair(name, "block ", row.block, " · warp ", row.warp)) return std::nullopt;
  return row;
}

std::optional<PutRow> parse_put_row(std::string_view name) {
  PutRow row;
  if (!take_pair(name, kPutArrow, row.peer, " · qp ", row.qp)) return std::nullopt;
  return row;
}

bool parse_span_name(std::string_view name, Span& span) {
  for (const WaitReason reason : kReasons) {
    if (name != wait_name(reason)) continue;
    span.kind = SpanKind::kWait;
    span.reason = reason;
    return true;
  }
  for (const SpanKind kind :
       {SpanKind::kPost, SpanKind::kCopy, SpanKind::kReduce, SpanKind::kBarrier}) {
    if (name != record::to_string(kind)) continue;
    span.kind = kind;
    return true;
  }
  span.kind = SpanKind::kPhase;
  return record::parse_phase(name).has_value();
}

}  // namespace shunt::trace
