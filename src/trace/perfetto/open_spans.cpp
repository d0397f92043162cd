// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "trace/perfetto/open_spans.hpp"

#include <utility>

namespace shunt::trace {
namespace {

constexpr std::size_t kMostTracks = std::size_t{1} << 18;
/// Deeper nesting is what a lost stretch of the trace left behind.
constexpr std::size_t kMostOpen = 64;

}  // namespace

ChromeEvent OpenSpans::Open::view() const {
  ChromeEvent out = event;
  out.name = name;
  out.category = category;
  out.element_type = element_type;
  out.collective = collective;
  return out;
}

void OpenSpans::begin(std::uint64_t track, const ChromeEvent& event) {
  if (open_.size() >= kMostTracks && open_.count(track) == 0) {
    ++left_out_;
    return;
  }
  auto& stack = open_[track];
  if (stack.size() >= kMostOpen) {
    for (const Open& open : stack) visitor_.event(open.view());
    stack.clear();
  }
  if (!stack.empty() && event.ts_ns < stack.back().event.ts_ns) ++disordered_;
  Open open;
  open.event = event;
  open.event.phase = 'B';
  open.name = event.name;
  open.category = event.category;
  open.element_type = event.element_type;
  open.collective = event.collective;
  stack.push_back(std::move(open));
}

void OpenSpans::end(std::uint64_t track, const ChromeEvent& event) {
  const auto found = open_.find(track);
  if (found == open_.end() || found->second.empty()) {
    ChromeEvent alone = event;
    alone.phase = 'E';
    visitor_.event(alone);
    return;
  }
  Open& open = found->second.back();
  ChromeEvent whole = open.view();
  whole.phase = 'X';
  whole.dur_ns = event.ts_ns - whole.ts_ns;
  // Arguments may stand at either end.
  if (whole.bytes == 0) whole.bytes = event.bytes;
  if (whole.first_dim == 0) whole.first_dim = event.first_dim;
  if (whole.second_dim == 0) whole.second_dim = event.second_dim;
  if (whole.element_type.empty()) whole.element_type = event.element_type;
  visitor_.event(whole);
  found->second.pop_back();
}

void OpenSpans::finish() {
  for (const auto& [track, stack] : open_) {
    for (const Open& open : stack) visitor_.event(open.view());
  }
  open_.clear();
}

}  // namespace shunt::trace
