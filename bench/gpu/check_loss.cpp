// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/check_loss.hpp"

#include <signal.h>
#include <unistd.h>

#include <cstdlib>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "bootstrap/launch.hpp"
#include "gpu/check_rank.hpp"

namespace shunt::bench::gpu {
namespace {

using Bytes = std::vector<std::byte>;

constexpr std::uint64_t kDeadline_ns = 500'000'000;
/// A wait for another block of the own rank lasts twice as long; then the host notices.
constexpr std::uint64_t kMost_ns = 3 * kDeadline_ns;

Result<std::string> live_on(Buffer& buffer, Rank& rank, int dead) {
  const std::uint64_t begin = now_ns();
  Status ended = rank.start_dispatch(1);
  if (ended) ended = buffer.wait(nullptr);
  const std::uint64_t took = now_ns() - begin;
  if (ended) return usage_error("rank {} dispatched to a dead one", buffer.rank());
  if (ended.error().code != ErrorCode::kTimeout && ended.error().code != ErrorCode::kPeerLost) {
    return Unexpected(std::move(ended).error());
  }
  if (took > kMost_ns) {
    return usage_error("rank {} noticed after {} ms", buffer.rank(), took / 1'000'000);
  }
  const std::string& said = ended.error().message;
  if (said.find(fmt::format("rank {}", dead)) == std::string::npos) {
    return usage_error("rank {} does not name rank {}: {}", buffer.rank(), dead, said);
  }
  return fmt::format("rank {} after {} ms: {}", buffer.rank(), took / 1'000'000, said);
}

Result<Bytes> rank_main(bootstrap::World& world, int ranks_per_node, int proxy_threads) {
  Case c;
  c.name = "a rank is killed";
  c.proxy_threads = proxy_threads;
  const WorldCase w = world_case(c, world.size(), ranks_per_node, 104);
  BufferOptions options = options_of(c, w);
  options.deadline_ns = kDeadline_ns;
  auto buffer = Buffer::create(world, options, geometry_of(c, w));
  if (!buffer) return Unexpected(std::move(buffer).error());
  Rank rank(**buffer, c, w);
  SHUNT_TRY(rank.prepare());
  SHUNT_TRY(rank.start_dispatch(0));
  SHUNT_TRY(rank.finish_dispatch(0));
  SHUNT_TRY(rank.start_combine());
  SHUNT_TRY(rank.finish_combine(0));
  SHUNT_TRY(world.barrier());
  const int dead = world.size() - 1;
  if (world.rank() == dead) (void)::kill(::getpid(), SIGKILL);
  auto said = live_on(**buffer, rank, dead);
  if (!said) return Unexpected(std::move(said).error());
  const auto* text = reinterpret_cast<const std::byte*>(said->data());
  return Bytes(text, text + said->size());
}

}  // namespace

Result<std::string> run_loss(int ranks, int ranks_per_node, int gpus, int proxy_threads) {
  bootstrap::LaunchOptions options;
  options.ranks = ranks;
  options.deadline_ns = 60'000'000'000;
  options.grace_ns = 20'000'000'000;
  auto outcome = bootstrap::launch_local(options, [&](bootstrap::World& world) -> Result<Bytes> {
    ::setenv("CUDA_MODULE_LOADING", "EAGER", 1);
    SHUNT_TRY(check(cudaSetDevice(world.rank() % gpus), "opening the device"));
    return rank_main(world, ranks_per_node, proxy_threads);
  });
  if (!outcome) return Unexpected(std::move(outcome).error());
  std::string all;
  for (int r = 0; r < ranks; ++r) {
    const bootstrap::RankOutcome& rank = outcome->ranks[static_cast<std::size_t>(r)];
    if (r == ranks - 1) {
      if (rank.signal == SIGKILL) continue;
      return fail(ErrorCode::kInternal, ErrorScope::kFatal, "rank {} was not killed", r);
    }
    if (rank.error) return Unexpected(*rank.error);
    if (rank.stopped || rank.signal != 0 || rank.result.empty()) {
      return fail(ErrorCode::kInternal, ErrorScope::kFatal, "rank {} did not notice", r);
    }
    all += fmt::format(
        "  {}\n",
        std::string_view(reinterpret_cast<const char*>(rank.result.data()), rank.result.size()));
  }
  return all;
}

}  // namespace shunt::bench::gpu
