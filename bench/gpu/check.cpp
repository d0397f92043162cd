// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/check.hpp"

#include "gpu/check_c.hpp"
#include "gpu/check_plan.hpp"
#include "gpu/check_rank.hpp"
#include "gpu/check_rounds.hpp"
#include "gpu/check_spans.hpp"
#include "gpu/check_staging.hpp"
#include "gpu/kernels.hpp"
#include "memory/cuda/device.hpp"

namespace shunt::bench::gpu {
namespace {

std::vector<Case> cases() {
  CaseList all;
  all.add("ragged", [](Case&) {});
  all.add("empty slots", [](Case& c) { c.dropped = 0.4; });
  all.add("only empty slots", [](Case& c) { c.dropped = 1.0; });
  all.add("no tokens at all", [](Case& c) { c.tokens = {0}; });
  all.add("skew to one rank", [](Case& c) { c.hot_experts = 2; });
  all.add("one slot", [](Case& c) { c.topk = 1; });
  all.add("one token a chunk, one chunk in flight", [](Case& c) {
    c.chunk_tokens = c.credits = 1;
    c.tokens = {0, 1, 9, 17};
  });
  all.add("several blocks a direction", [](Case& c) {
    c.rdma_blocks = 3;
    c.credits = 5;
  });
  all.add("several progress threads", [](Case& c) {
    c.proxy_threads = 3;
    c.rdma_blocks = 2;
    c.chunk_tokens = 5;
    c.rounds = 20;
  });
  all.add("many slots", [](Case& c) {
    c.topk = 12;
    c.experts_per_rank = 7;
  });
  all.add("hidden 7168", [](Case& c) {
    c.hidden = 7168;
    c.topk = 8;
    c.blocks = 8;
    c.warps = 32;
    c.row_warps = 4;
    c.chunk_tokens = 64;
    c.credits = 8;
  });
  all.add("one vector per row", [](Case& c) {
    c.hidden = 8;
    c.row_warps = 2;
  });
  all.add("rows that slices do not divide", [](Case& c) {
    c.hidden = 1032;
    c.warps = 12;
    c.row_warps = 3;
  });
  all.add("fp16", [](Case& c) { c.dtype = c.wire = DType::kF16; });
  all.add("fp32", [](Case& c) {
    c.dtype = c.wire = DType::kF32;
    c.hidden = 260;
    c.row_warps = 2;
  });
  all.add("bf16 rows, fp32 partials", [](Case& c) { c.wire = DType::kF32; });
  all.add("fp32 rows, bf16 partials", [](Case& c) { c.dtype = DType::kF32; });
  all.add("overflow", [](Case& c) { c.capacity = 0.5; });
  all.add("planned on the device", [](Case& c) { c.plan_on_device = true; });
  all.add("planned on the device, empty slots", [](Case& c) {
    c.plan_on_device = true;
    c.dropped = 0.4;
    c.chunk_tokens = 1;
    c.rounds = 5;
  });
  all.add("planned on the device, many slots", [](Case& c) {
    c.plan_on_device = true;
    c.topk = 12;
    c.experts_per_rank = 7;
    c.capacity = 0.5;
    c.warps = 1;
  });
  all.add("one block of one warp", [](Case& c) { c.blocks = c.warps = 1; });
  all.add("a heap of virtual memory", [](Case& c) { c.heap = HeapKind::kVirtual; });
  all.add("peers that atomics do not reach", [](Case& c) {
    c.peer_atomics = false;
    c.rounds = 5;
  });
  all.add("rows that come ahead", [](Case& c) {
    c.ahead = memory::AheadRows{.rows = 9, .step_log2 = 2};
    c.plan_on_device = true;
    c.rounds = 5;
  });
  all.add("all rows come ahead", [](Case& c) {
    c.ahead = memory::AheadRows{.rows = 400};
    c.row_warps = 2;
    c.hidden = 1032;
  });
  all.add("overflow, rows that come ahead", [](Case& c) {
    c.ahead = memory::AheadRows{.rows = 50, .step_log2 = 1};
    c.capacity = 0.5;
  });
  all.add("200 rounds with random delays, rows that come ahead", [](Case& c) {
    c.ahead = memory::AheadRows{.rows = 20};
    c.tokens = {17, 5, 33};
    c.hidden = 64;
    c.rounds = 200;
    c.delays = true;
  });
  all.add("200 rounds with random delays", [](Case& c) {
    c.tokens = {17, 5, 33};
    c.hidden = 64;
    c.rounds = 200;
    c.delays = true;
  });
  return all.take();
}

/// The last rank stays away: every other rank's wait must end with an error that says so.
Status run_absence(bootstrap::World& world, int ranks_per_node, int proxy_threads) {
  Case c;
  c.name = "a rank stays away";
  c.proxy_threads = proxy_threads;
  const WorldCase w = world_case(c, world.size(), ranks_per_node, 7);
  BufferOptions options = options_of(c, w);
  options.deadline_ns = 300'000'000;
  auto buffer = Buffer::create(world, options, geometry_of(c, w));
  if (!buffer) return Unexpected(std::move(buffer).error());
  Status status;
  if (world.rank() != world.size() - 1) {
    Rank rank(**buffer, c, w);
    SHUNT_TRY(rank.prepare());
    SHUNT_TRY(rank.start_dispatch(0));
    const Status ended = (*buffer)->wait(nullptr);
    if (ended) {
      status = fail(ErrorCode::kInternal, ErrorScope::kFatal, "{}: nobody noticed", c.name);
    } else if (ended.error().code != ErrorCode::kTimeout &&
               ended.error().code != ErrorCode::kPeerLost) {
      status = ended;
    }
  }
  SHUNT_TRY(world.barrier());
  return status;
}

/// Sums of two rows are made with packed adds: they must have the bits of all other sums.
Status run_pairs() {
  auto wrong = memory::cuda::DeviceMemory::create(sizeof(unsigned long long));
  if (!wrong) return Unexpected(std::move(wrong).error());
  unsigned long long count = 0;
  SHUNT_TRY(memory::cuda::check(cudaMemset(wrong->data(), 0, sizeof(count)), "clearing a counter"));
  for (const DType type : {DType::kBF16, DType::kF16}) {
    launch_verify_pairs(type, reinterpret_cast<unsigned long long*>(wrong->data()), nullptr);
    SHUNT_TRY(memory::cuda::check(
        cudaMemcpy(&count, wrong->data(), sizeof(count), cudaMemcpyDeviceToHost),
        "reading a counter"));
    if (count == 0) continue;
    return fail(ErrorCode::kInternal,
                ErrorScope::kFatal,
                "{} of all pairs of {} are added otherwise than in fp32",
                count,
                to_string(type));
  }
  return {};
}

}  // namespace

Result<std::vector<std::string>> run_checks(bootstrap::World& world,
                                            int ranks_per_node,
                                            int proxy_threads) {
  std::vector<std::string> passed;
  std::uint64_t seed = 1;
  std::vector<Case> all = cases();
  for (Case& c : all) {
    c.proxy_threads = std::max(c.proxy_threads, proxy_threads);
    const WorldCase first = world_case(c, world.size(), ranks_per_node, seed++);
    const WorldCase second = world_case(c, world.size(), ranks_per_node, seed++);
    engine::cuda::Hooks hooks;
    hooks.heap = c.heap;
    hooks.peer_atomics = c.peer_atomics;
    hooks.ahead = c.ahead;
    auto buffer = Buffer::create(world, options_of(c, first), geometry_of(c, first), hooks);
    if (!buffer) return Unexpected(std::move(buffer).error());
    SHUNT_TRY(run_rounds(**buffer, c, first, second));
    SHUNT_TRY(world.barrier());
    passed.push_back(c.name);
  }
  SHUNT_TRY(run_spans(world, ranks_per_node, proxy_threads));
  passed.emplace_back("recorded spans");
  SHUNT_TRY(run_pairs());
  passed.emplace_back("sums of two, all pairs");
  SHUNT_TRY(run_graph(world, ranks_per_node, proxy_threads));
  passed.emplace_back("replayed from a graph");
  SHUNT_TRY(run_c(world, ranks_per_node, proxy_threads));
  passed.emplace_back("through the interface for C");
  SHUNT_TRY(run_staging(world, ranks_per_node, &passed));
  SHUNT_TRY(run_bad_id(world, ranks_per_node, proxy_threads));
  passed.emplace_back("an id out of range");
  SHUNT_TRY(run_absence(world, ranks_per_node, proxy_threads));
  passed.emplace_back("a rank stays away");
  return passed;
}

}  // namespace shunt::bench::gpu
