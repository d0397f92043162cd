// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/check_spans.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "gpu/check_rank.hpp"
#include "gpu/check_rounds.hpp"

namespace shunt::bench::gpu {
namespace {

using record::Phase;
using record::Span;
using record::SpanKind;

/// Spans of one block of the intra role in one operation.
struct BlockSpans {
  std::vector<Span> operations;
  std::map<Phase, Span> phases;
  std::vector<Span> works;
};

/// Phases of the intra role of a combine (a dispatch) in their order.
constexpr Phase kCombinePhases[] = {
    Phase::kCombineSyncBarrier, Phase::kCombineIntraNode, Phase::kCombineRelease};
constexpr Phase kDispatchPhases[] = {Phase::kDispatchIntra, Phase::kDispatchSync};

[[nodiscard]] bool is_intra(Phase phase) {
  const auto among = [phase](const auto& phases) {
    return std::find(std::begin(phases), std::end(phases), phase) != std::end(phases);
  };
  return among(kCombinePhases) || among(kDispatchPhases);
}

template <typename... Args>
Unexpected wrong(const Span& span, fmt::format_string<Args...> text, Args&&... args) {
  return fail(ErrorCode::kInternal,
              ErrorScope::kFatal,
              "spans: {} of {}, operation {} block {} warp {} [{}, {}] ns: {}",
              to_string(span.kind),
              to_string(span.phase),
              span.op,
              span.block,
              span.warp,
              span.begin_ns,
              span.end_ns,
              fmt::format(text, std::forward<Args>(args)...));
}

Status check_block(const BlockSpans& block) {
  if (block.operations.size() != 1) {
    return fail(ErrorCode::kInternal,
                ErrorScope::kFatal,
                "spans: a block has {} spans of one operation",
                block.operations.size());
  }
  const Span& whole = block.operations.front();
  const auto inside = [](const Span& span, std::uint64_t begin, std::uint64_t end) {
    return begin <= span.begin_ns && span.begin_ns <= span.end_ns && span.end_ns <= end;
  };
  const Span* before = nullptr;
  const auto follow = [&](Phase phase) -> Status {
    const auto found = block.phases.find(phase);
    if (found == block.phases.end()) return {};
    const Span& span = found->second;
    if (!inside(span, whole.begin_ns, whole.end_ns)) {
      return wrong(span, "not inside [{}, {}]", whole.begin_ns, whole.end_ns);
    }
    if (before != nullptr && span.begin_ns < before->end_ns) {
      return wrong(span, "begins before {} ends, {}", to_string(before->phase), before->end_ns);
    }
    before = &span;
    return {};
  };
  for (const Phase phase : kCombinePhases) SHUNT_TRY(follow(phase));
  for (const Phase phase : kDispatchPhases) SHUNT_TRY(follow(phase));
  for (const Span& span : block.works) {
    const auto phase = block.phases.find(span.phase);
    if (phase == block.phases.end()) return wrong(span, "its block has no such phase");
    // Warps begin a phase one by one, and end it together.
    if (!inside(span, whole.begin_ns, phase->second.end_ns)) {
      return wrong(span, "not inside [{}, {}]", whole.begin_ns, phase->second.end_ns);
    }
  }
  return {};
}

/// By operation and block; `copied` and `summed`: bytes inside the node.
struct Recorded {
  std::map<std::pair<std::uint32_t, std::uint16_t>, BlockSpans> blocks;
  std::uint64_t copied = 0;
  std::uint64_t summed = 0;
  std::uint64_t ahead = 0;

  explicit Recorded(record::Recorder& recorder) {
    recorder.drain([this](record::RecordType type, const unsigned char* body) {
      if (type != record::RecordType::kSpan) return;
      Span span;
      std::memcpy(&span, body, sizeof(span));
      take(span);
    });
  }
  void take(const Span& span) {
    const bool whole = span.phase == Phase::kDispatch || span.phase == Phase::kCombine;
    if (!whole && !is_intra(span.phase)) return;
    BlockSpans& block = blocks[{span.op, span.block}];
    if (whole) {
      block.operations.push_back(span);
    } else if (span.kind == SpanKind::kPhase) {
      block.phases[span.phase] = span;
    } else {
      block.works.push_back(span);
      if (span.phase == Phase::kDispatchIntra && span.kind == SpanKind::kCopy) copied += span.bytes;
      if (span.phase == Phase::kCombineIntraNode) summed += span.bytes;
      if (span.kind == SpanKind::kCopy && span.phase == Phase::kCombineSyncBarrier) {
        ahead += span.bytes;
      }
    }
  }
};

/// Rows that come ahead of a combine from `rank`: it has those of its node peers' tokens.
std::uint64_t rows_ahead(const WorldCase& w, int rank, const memory::AheadRows& ahead) {
  if (w.ranks_per_node != w.world) return 0;
  std::uint64_t rows = 0;
  for (int source = 0; source < w.world; ++source) {
    std::int32_t row = 0;
    for (std::int64_t t = 0; source != rank && t < w.tokens(source); ++t) {
      if (w.ranks_of(source, t).count(rank) == 0) continue;
      rows += ahead.place(row++) >= 0 ? 1 : 0;
    }
  }
  return rows;
}

/// Rows that a rank stores inside its node, and tokens that its intra role sums.
std::pair<std::uint64_t, std::uint64_t> rows_inside(const WorldCase& w, int rank) {
  const auto node_of = [&](int r) { return r / w.ranks_per_node; };
  std::uint64_t rows = 0;
  std::uint64_t tokens = 0;
  for (std::int64_t t = 0; t < w.tokens(rank); ++t) {
    std::uint64_t inside = 0;
    const std::set<int> ranks = w.ranks_of(rank, t);
    for (const int r : ranks) inside += node_of(r) == node_of(rank) ? 1 : 0;
    rows += inside;
    tokens += inside == ranks.size() ? 1 : 0;
  }
  return {rows, tokens};
}

}  // namespace

Status run_spans(bootstrap::World& world, int ranks_per_node, int proxy_threads) {
  Case c;
  c.name = "spans";
  c.proxy_threads = proxy_threads;
  c.tokens = {130, 70, 0, 100};
  c.rounds = 3;
  const WorldCase first = world_case(c, world.size(), ranks_per_node, 21);
  const WorldCase second = world_case(c, world.size(), ranks_per_node, 22);
  record::Recorder recorder(1U << 14);
  engine::cuda::Hooks hooks;
  hooks.recorder = &recorder;
  hooks.ahead = memory::AheadRows{.rows = 6, .step_log2 = 2};
  auto buffer = Buffer::create(world, options_of(c, first), geometry_of(c, first), hooks);
  if (!buffer) return Unexpected(std::move(buffer).error());
  SHUNT_TRY(run_rounds(**buffer, c, first, second));
  SHUNT_TRY(world.barrier());
  const Recorded recorded(recorder);
  const std::size_t operations = 4 * static_cast<std::size_t>(c.rounds);
  const auto blocks = static_cast<std::size_t>(c.blocks);
  if (recorded.blocks.size() != operations * blocks) {
    return fail(ErrorCode::kInternal,
                ErrorScope::kFatal,
                "spans: {} blocks of operations, not {}",
                recorded.blocks.size(),
                operations * blocks);
  }
  for (const auto& entry : recorded.blocks) SHUNT_TRY(check_block(entry.second));
  std::uint64_t rows = 0;
  std::uint64_t sums = 0;
  std::uint64_t ahead = 0;
  for (const WorldCase* w : {&first, &second}) {
    const auto [copied, summed] = rows_inside(*w, world.rank());
    rows += copied;
    sums += summed;
    ahead += rows_ahead(*w, world.rank(), *hooks.ahead);
  }
  const auto each = static_cast<std::uint64_t>(c.rounds) * static_cast<std::uint64_t>(c.hidden) * 2;
  if (recorded.copied != rows * each || recorded.summed != sums * each ||
      recorded.ahead != ahead * each) {
    return fail(ErrorCode::kInternal,
                ErrorScope::kFatal,
                "spans: {} bytes copied inside the node, {} summed, {} ahead; {}, {} and {} in the "
                "plan",
                recorded.copied,
                recorded.summed,
                recorded.ahead,
                rows * each,
                sums * each,
                ahead * each);
  }
  return {};
}

}  // namespace shunt::bench::gpu
