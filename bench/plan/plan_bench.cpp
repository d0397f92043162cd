// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// bench_plan: what planning one rank's dispatch costs, beside one pass over the ids: the obvious
// loop that reads them all and counts the selections of every rank. Both in turns on the same
// routing; the ratio is taken per turn.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/clock.hpp"
#include "plan/plan.hpp"
#include "routing/generate.hpp"

namespace {

struct World {
  int ranks = 0;
  int ranks_per_node = 8;
  std::int64_t tokens = 16384;
  int experts = 0;
};

struct Options {
  int topk = 8;
  std::string routing = "uniform";
  int turns = 101;
  bool fresh = false;
  World world;  ///< The only one, where it has ranks.
};

struct Figure {
  std::vector<double> values;

  [[nodiscard]] std::string text(int digits) {
    std::sort(values.begin(), values.end());
    return fmt::format("{:.{}f} ({:.{}f}-{:.{}f})",
                       values[values.size() / 2],
                       digits,
                       values[values.size() / 10],
                       digits,
                       values[values.size() * 9 / 10],
                       digits);
  }
};

/// Selections per rank. Not inlined, so that the result must be stored.
[[gnu::noinline]] void pass_over_ids(const shunt::routing::RoutingView& routing,
                                     int experts_per_rank,
                                     std::vector<std::int32_t>& selections) {
  std::fill(selections.begin(), selections.end(), 0);
  const auto slots = static_cast<std::size_t>(routing.tokens * routing.topk);
  for (std::size_t i = 0; i < slots; ++i) {
    const std::int32_t id = routing.ids[i];
    if (id >= 0) ++selections[static_cast<std::size_t>(id / experts_per_rank)];
  }
}

[[noreturn]] void give_up(const shunt::Error& error) {
  fmt::print(stderr, "bench_plan: {}\n", error.message);
  std::exit(2);
}

void measure(const Options& options, const World& world) {
  const auto shape = shunt::cluster::Shape::create(world.ranks, world.ranks_per_node);
  if (!shape) give_up(shape.error());
  const auto spec = shunt::routing::RoutingSpec::parse(options.routing);
  if (!spec) give_up(spec.error());
  const auto routing =
      shunt::routing::generate(*spec, world.tokens, options.topk, world.experts, 1, 0);
  if (!routing) give_up(routing.error());
  std::vector<std::int32_t> selections(static_cast<std::size_t>(world.ranks));
  shunt::plan::Plan used;
  Figure pass;
  Figure plan;
  Figure ratio;
  for (int turn = -5; turn < options.turns; ++turn) {
    const std::uint64_t begin = shunt::now_ns();
    pass_over_ids(routing->view(), world.experts / world.ranks, selections);
    const std::uint64_t between = shunt::now_ns();
    auto made =
        shunt::plan::make_plan(routing->view(), *shape, 0, {world.experts, 64}, std::move(used));
    const std::uint64_t end = shunt::now_ns();
    if (!made) give_up(made.error());
    if (!options.fresh) used = std::move(*made);
    if (turn < 0) continue;
    pass.values.push_back(static_cast<double>(between - begin) / 1e3);
    plan.values.push_back(static_cast<double>(end - between) / 1e3);
    ratio.values.push_back(plan.values.back() / pass.values.back());
  }
  fmt::print("{:>6}  {:>8}  {:>7}  {:>8}  {:>22}  {:>22}  {:>18}\n",
             world.ranks,
             world.ranks_per_node,
             world.tokens,
             world.experts,
             pass.text(1),
             plan.text(1),
             ratio.text(2));
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("What planning a dispatch costs, beside one pass over the ids");
  app.add_option("--topk", options.topk, "Experts per token")->check(CLI::PositiveNumber);
  app.add_option("--routing", options.routing, "As in shunt bench");
  app.add_option("--turns", options.turns, "Timed turns")->check(CLI::PositiveNumber);
  app.add_flag("--fresh", options.fresh, "Every plan in fresh memory, not in that of the last one");
  app.add_option("--ranks", options.world.ranks, "Only a world of so many, with these experts")
      ->check(CLI::PositiveNumber);
  app.add_option("--ranks-per-node", options.world.ranks_per_node, "Of that world")
      ->check(CLI::PositiveNumber);
  app.add_option("--tokens", options.world.tokens, "Of one of its ranks");
  app.add_option("--experts", options.world.experts, "Of that world (default: one a rank)");
  CLI11_PARSE(app, argc, argv);
  if (options.world.experts == 0) options.world.experts = options.world.ranks;
  fmt::print("top-{}, {}; {} turns: median (first to last decile)\n",
             options.topk,
             options.routing,
             options.turns);
  fmt::print("{:>6}  {:>8}  {:>7}  {:>8}  {:>22}  {:>22}  {:>18}\n",
             "ranks",
             "per node",
             "tokens",
             "experts",
             "pass µs",
             "plan µs",
             "plan / pass");
  std::vector<World> worlds = {{8, 8, 4096, 256},
                               {16, 8, 4096, 256},
                               {64, 8, 4096, 256},
                               {64, 8, 16384, 256},
                               {1024, 8, 128, 1024},
                               {1024, 64, 16384, 1024},
                               {1024, 8, 16384, 1024}};
  if (options.world.ranks > 0) worlds = {options.world};
  for (const World& world : worlds) measure(options, world);
  return 0;
}
