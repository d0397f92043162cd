// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "trace/chrome/collector.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace shunt::trace {
namespace {

constexpr int kNoPhase = -1;
constexpr int kUnseen = -2;
constexpr std::string_view kFirstPhase = "copy_to_staging";

/// Host-side events carry the same words in their names as the kernels they start.
bool is_host(std::string_view category) {
  static constexpr std::array<std::string_view, 8> kHost = {"cpu_op",
                                                            "user_annotation",
                                                            "cuda_runtime",
                                                            "cuda_driver",
                                                            "python_function",
                                                            "ac2g",
                                                            "Trace",
                                                            "overhead"};
  return std::find(kHost.begin(), kHost.end(), category) != kHost.end();
}

std::int64_t element_bytes(std::string_view type) {
  const auto has = [type](std::string_view word) {
    return type.find(word) != std::string_view::npos;
  };
  if (has("double") || has("int64") || has("long")) return 8;
  if (has("bfloat16") || has("BFloat16") || has("half") || has("Half") || has("float16") ||
      has("short")) {
    return 2;
  }
  if (has("Float8") || has("float8") || has("char") || has("int8") || has("Byte") || has("bool")) {
    return 1;
  }
  return has("float") || has("Float") || has("int") || has("Int") ? 4 : 0;
}

std::uint64_t thread_of(const ChromeEvent& event) {
  return static_cast<std::uint64_t>(event.pid) * 0x9E3779B97F4A7C15U ^
         static_cast<std::uint64_t>(event.tid);
}

}  // namespace

int Collector::phase_index(std::string_view name) {
  // Events of one kind come in long runs.
  if (last_index_ != kUnseen && name == last_name_) return last_index_;
  last_name_.assign(name);
  const std::string& key = last_name_;
  if (const auto found = known_.find(key); found != known_.end()) {
    return last_index_ = found->second;
  }
  const std::string_view phase = table_.phase_of(name);
  int index = kNoPhase;
  if (!phase.empty()) {
    const auto same = std::find_if(
        phases_.begin(), phases_.end(), [phase](const Phase& p) { return p.stats.phase == phase; });
    index = static_cast<int>(same - phases_.begin());
    if (same == phases_.end()) {
      phases_.emplace_back();
      phases_.back().stats.phase = std::string(phase);
    }
  }
  if (known_.size() < kMaxNames) known_.emplace(key, index);
  return last_index_ = index;
}

void Collector::event(const ChromeEvent& event) {
  if (is_host(event.category)) {
    kineto_ = true;
    if (event.phase == 'X') add_call(event);
    return;
  }
  if (event.phase != 'X' && event.phase != 'B' && event.phase != 'E') return;
  kineto_ = kineto_ || event.category == "kernel";
  mori_ = mori_ || event.category == "gpu_kernel";
  if (event.phase == 'E') {
    // The end may leave its name out: the thread's last begin is meant.
    const auto stack = open_.find(thread_of(event));
    if (stack == open_.end() || stack->second.empty()) {
      ++orphans_;
      return;
    }
    const Open open = stack->second.back();
    stack->second.pop_back();
    if (open.phase != kNoPhase) add_span(open.phase, open.begin_ns, event.ts_ns);
    return;
  }
  const int phase = phase_index(event.name);
  if (event.phase == 'B') {
    if (open_.size() >= kMaxThreads && open_.find(thread_of(event)) == open_.end()) {
      ++left_out_;
      return;
    }
    auto& stack = open_[thread_of(event)];
    // A kernel that was cut leaves begins behind; nesting deeper than this is such litter.
    if (stack.size() >= 64) {
      orphans_ += stack.size();
      stack.clear();
    }
    stack.push_back({phase, event.ts_ns});
    return;
  }
  if (phase == kNoPhase) return;
  std::int64_t end = 0;
  if (__builtin_add_overflow(event.ts_ns, event.dur_ns, &end)) {
    ++orphans_;
    return;
  }
  add_span(phase, event.ts_ns, end);
  // Spans of warps are no kernels.
  if (!mori_ && end >= event.ts_ns) add_kernel(phase, event);
}

void Collector::add_kernel(int phase, const ChromeEvent& event) {
  if (kernels_.size() >= kMaxKernels) {
    ++left_out_;
    return;
  }
  kernels_.push_back({phases_[static_cast<std::size_t>(phase)].stats.phase,
                      event.ts_ns,
                      event.ts_ns + event.dur_ns});
}

void Collector::add_call(const ChromeEvent& event) {
  const bool all_to_all = event.name.find("alltoall") != std::string_view::npos ||
                          event.name.find("all_to_all") != std::string_view::npos;
  const std::int64_t size = element_bytes(event.element_type);
  if (!all_to_all || size == 0 || event.second_dim == 0 || calls_.size() >= kMaxKernels) return;
  // c10d::alltoall_base_(output, input, …)
  calls_.push_back({event.ts_ns, event.second_dim * size, event.first_dim * size});
}

void Collector::add_span(int index, std::int64_t begin, std::int64_t end) {
  std::int64_t length = 0;
  if (end < begin || __builtin_sub_overflow(end, begin, &length)) {
    ++orphans_;
    return;
  }
  Phase& phase = phases_[static_cast<std::size_t>(index)];
  PhaseStats& stats = phase.stats;
  if (__builtin_add_overflow(stats.total_ns, length, &stats.total_ns)) {
    stats.total_ns = INT64_MAX;
  }
  stats.min_ns = stats.spans == 0 ? length : std::min(stats.min_ns, length);
  stats.max_ns = std::max(stats.max_ns, length);
  ++stats.spans;
  merge(phase, begin, end);
}

void Collector::merge(Phase& phase, std::int64_t begin, std::int64_t end) {
  // Most spans lie inside what their phase already covers.
  if (begin >= phase.last.begin_ns && end <= phase.last.end_ns) return;
  auto next = phase.merged.upper_bound(begin);
  if (next != phase.merged.begin()) {
    const auto before = std::prev(next);
    if (before->second >= begin) {
      begin = before->first;
      end = std::max(end, before->second);
      next = phase.merged.erase(before);
      --intervals_;
    }
  }
  while (next != phase.merged.end() && next->first <= end) {
    end = std::max(end, next->second);
    next = phase.merged.erase(next);
    --intervals_;
  }
  if (intervals_ >= kMaxIntervals) {
    ++left_out_;
    return;
  }
  phase.merged.emplace(begin, end);
  phase.last = {begin, end};
  ++intervals_;
}

std::vector<Round> Collector::rounds() const {
  const auto first = std::find_if(phases_.begin(), phases_.end(), [](const Phase& phase) {
    return phase.stats.phase == kFirstPhase;
  });
  if (first == phases_.end()) return {};
  // A round starts where staging starts after a combine has ended since the last start.
  std::vector<std::int64_t> combines;
  for (const Phase& phase : phases_) {
    if (phase.stats.phase.substr(0, 7) != "combine") continue;
    for (const auto& [begin, end] : phase.merged) combines.push_back(end);
  }
  std::sort(combines.begin(), combines.end());
  std::vector<Round> found;
  for (const auto& [begin, end] : first->merged) {
    if (!found.empty()) {
      const auto combine =
          std::lower_bound(combines.begin(), combines.end(), found.back().whole.begin_ns);
      if (combine == combines.end() || *combine > begin) continue;
    }
    Round round;
    round.whole = {begin, end};
    found.push_back(std::move(round));
  }
  for (const Phase& phase : phases_) {
    for (const auto& [begin, end] : phase.merged) {
      auto at = std::upper_bound(
          found.begin(), found.end(), begin, [](std::int64_t time, const Round& round) {
            return time < round.whole.begin_ns;
          });
      if (at == found.begin()) continue;
      Round& round = *std::prev(at);
      round.whole.end_ns = std::max(round.whole.end_ns, end);
      const auto [entry, fresh] = round.phases.emplace(phase.stats.phase, Interval{begin, end});
      if (!fresh) entry->second.end_ns = std::max(entry->second.end_ns, end);
    }
  }
  return found;
}

ForeignTrace Collector::finish(ChromeSummary summary) {
  ForeignTrace trace;
  trace.summary = std::move(summary);
  for (const auto& [thread, stack] : open_) orphans_ += stack.size();
  trace.rounds = rounds();
  std::sort(phases_.begin(), phases_.end(), [](const Phase& a, const Phase& b) {
    const auto begin = [](const Phase& p) {
      return p.merged.empty() ? INT64_MAX : p.merged.begin()->first;
    };
    return begin(a) < begin(b);
  });
  for (Phase& phase : phases_) {
    if (phase.stats.spans > 0) trace.phases.push_back(std::move(phase.stats));
  }
  std::sort(kernels_.begin(), kernels_.end(), [](const KernelSpan& a, const KernelSpan& b) {
    return a.end_ns < b.end_ns;
  });
  std::sort(calls_.begin(), calls_.end(), [](const CollectiveCall& a, const CollectiveCall& b) {
    return a.begin_ns < b.begin_ns;
  });
  trace.kernels = std::move(kernels_);
  trace.calls = std::move(calls_);
  trace.orphans = orphans_;
  trace.left_out = left_out_;
  const bool json = trace.summary.format == ChromeSummary().format;
  trace.kind = mori_             ? "MORI kernel trace"
               : kineto_ && json ? "Kineto trace"
                                 : trace.summary.format + " trace";
  return trace;
}

}  // namespace shunt::trace
