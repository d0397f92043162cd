// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bootstrap/launch.hpp"
#include "cli/bench_place.hpp"

namespace shunt::cli {

Exit run_launched(BenchJob job) {
  std::optional<bootstrap::EmulatedNodes> links;
  if (!job.options.emulate_link.empty()) {
    if (job.shape.nodes < 2) {
      complain("--emulate-link needs --nodes 2 or more: one node has no link");
      return Exit::kUsage;
    }
    bootstrap::EmulatedLinkOptions wanted;
    wanted.nodes = job.shape.nodes;
    wanted.nics = job.options.emulate_nics;
    wanted.rate_bytes_per_s = *job.link_rate;
    auto made = bootstrap::EmulatedNodes::create(wanted);
    if (!made) return complain(made.error(), Exit::kEnvironment);
    links.emplace(std::move(*made));
    job.links = &*links;
  }
  auto info = describe_run(job, "local");
  if (!info) return complain(info.error());
  auto place = RunPlace::create(job.options);
  if (!place) return complain(place.error());
  job.directory = place->writer().path();
  info->started = utc_now();
  if (const Status written = place->writer().write_info(*info); !written) {
    return complain(written.error());
  }
  bootstrap::LaunchOptions launch;
  launch.ranks = job.shape.world;
  launch.deadline_ns = static_cast<std::uint64_t>((job.options.deadline_s + 30) * 1e9);
  if (links) {
    launch.on_start = [&](int rank) { return links->enter(job.shape.node_of(rank)); };
  }
  const auto outcome = bootstrap::launch_local(
      launch, [&](bootstrap::World& world) -> Result<std::vector<std::byte>> {
        auto result = run_rank(world, job);
        if (!result) return Unexpected(std::move(result).error());
        return to_bytes(*result);
      });
  if (!outcome) return complain(outcome.error(), Exit::kEnvironment);
  if (outcome->interrupted_by != 0) {
    complain(fmt::format("interrupted by signal {}", outcome->interrupted_by));
    std::exit(128 + outcome->interrupted_by);
  }
  if (!outcome->status) return complain(outcome->status.error(), Exit::kEnvironment);
  std::vector<RankResult> ranks;
  for (const bootstrap::RankOutcome& rank : outcome->ranks) {
    auto result = from_bytes(rank.result);
    if (!result) return complain(result.error());
    ranks.push_back(std::move(*result));
  }
  return finish(job, *place, *info, ranks);
}

}  // namespace shunt::cli
