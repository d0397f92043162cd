// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/table.hpp"

#include <algorithm>
#include <cstdint>
#include <string>

#include <fmt/format.h>

namespace shunt::bench::gpu {
namespace {

using nlohmann::json;

struct Spread {
  double low = 0;  ///< 10th percentile.
  double median = 0;
  double high = 0;  ///< 90th percentile.
};

Spread spread_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto at = [&](double share) {
    return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
  };
  return {at(0.1), at(0.5), at(0.9)};
}

/// One timing of all ranks.
class Timing {
 public:
  Timing(const std::vector<json>& ranks, std::size_t index) : ranks_(ranks), index_(index) {}

  [[nodiscard]] const json& of(std::size_t rank) const { return ranks_[rank]["timings"][index_]; }
  [[nodiscard]] double sum(const char* what) const {
    double total = 0;
    for (std::size_t r = 0; r < ranks_.size(); ++r) total += of(r)[what].get<double>();
    return total;
  }
  /// Per iteration the slowest rank.
  [[nodiscard]] Spread slowest(const char* what) const {
    auto most = of(0)[what].get<std::vector<double>>();
    for (std::size_t r = 1; r < ranks_.size(); ++r) {
      const auto mine = of(r)[what].get<std::vector<double>>();
      for (std::size_t i = 0; i < most.size(); ++i) most[i] = std::max(most[i], mine[i]);
    }
    return spread_of(std::move(most));
  }

 private:
  const std::vector<json>& ranks_;
  std::size_t index_;
};

/// Bytes that a device's links must carry in one direction, the rate that plain copies reach in
/// this run, and what the links' counters showed, as a share of the bytes; zeros on one device.
struct Link {
  double bytes = 0;
  double bytes_per_us = 0;
  double counted = 0;
};

Link link_of(const Timing& timing, bool dispatch, int gpus) {
  Link link;
  if (gpus < 2) return link;
  const double bytes =
      timing.sum("link_row_bytes") + (dispatch ? timing.sum("link_extra_bytes") : 0);
  link.bytes = bytes / gpus;
  const double copied = timing.sum("input_bytes") / gpus;
  link.bytes_per_us = copied / timing.slowest(dispatch ? "push" : "pull").median;
  double counted = 0;
  for (int d = 0; d < gpus; ++d) {
    const double one =
        timing.of(static_cast<std::size_t>(d))[dispatch ? "dispatch_sent" : "combine_received"]
            .get<double>();
    if (one < 0) return link;
    counted += one;
  }
  link.counted = counted / timing.of(0)["counted_operations"].get<double>() / bytes;
  return link;
}

}  // namespace

void print_heading() {
  fmt::print(
      "{:>5} {:>4} {:>5} {:<5} {:>6} {:<9} {:>6} {:>8} {:>8} {:>8} {:>8} {:>9} {:>14} {:>6} {:>6} "
      "{:>9} "
      "{}\n",
      "ranks",
      "SMs",
      "warps",
      "type",
      "tokens",
      "operation",
      "GB",
      "launch",
      "memory",
      "copy",
      "link",
      "us",
      "p10-p90",
      "/floor",
      "plan",
      "uncached",
      "counter");
}

json report_line(const std::vector<json>& ranks, std::size_t index, const char* what, int gpus) {
  const Timing timing(ranks, index);
  const bool dispatch = std::string(what) == "dispatch";
  const json& first = timing.of(0);
  const double bytes = timing.sum("input_bytes") + timing.sum("output_bytes");
  const auto wrong = static_cast<std::uint64_t>(timing.sum("wrong"));
  const Spread operation = timing.slowest(what);
  const double plan = timing.slowest("plan").median;
  const double uncached = timing.slowest("uncached").median;
  const double launch = timing.slowest("launch").median;
  const double copy = timing.slowest(dispatch ? "copy_mix" : "read_mix").median;
  const double memory = bytes / gpus / first["memory"].get<double>();
  const Link link = link_of(timing, dispatch, gpus);
  const double link_us = link.bytes > 0 ? link.bytes / link.bytes_per_us : 0;
  const double floor = std::max({memory, copy, link_us});
  fmt::print(
      "{:>5} {:>4} {:>5} {:<5} {:>6} {:<9} {:>6.2f} {:>8.0f} {:>8.0f} {:>8.0f} {:>8.0f} {:>9.0f} "
      "{:>14} "
      "{:>6.2f} {:>6} {:>9} {}{}\n",
      ranks.size(),
      first["blocks"].get<int>(),
      first["warps"].get<int>(),
      first["dtype"].get<std::string>(),
      first["tokens"].get<std::int64_t>(),
      what,
      bytes / 1e9,
      launch,
      memory,
      copy,
      link_us,
      operation.median,
      fmt::format("{:.0f}-{:.0f}", operation.low, operation.high),
      operation.median / floor,
      dispatch ? fmt::format("{:.0f}", plan) : "-",
      dispatch ? fmt::format("{:+.0f}", uncached - operation.median) : "-",
      link.counted > 0 ? fmt::format("{:.3f}", link.counted) : "-",
      wrong == 0 ? "" : fmt::format("  {} ELEMENTS WRONG", wrong));
  json medians = json::array();
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    medians.push_back(spread_of(timing.of(r)[what].get<std::vector<double>>()).median);
  }
  json line = {{"ranks", ranks.size()},
               {"gpus", gpus},
               {"blocks", first["blocks"]},
               {"warps", first["warps"]},
               {"row_warps", first["row_warps"]},
               {"dtype", first["dtype"]},
               {"tokens", first["tokens"]},
               {"operation", what},
               {"bytes", bytes},
               {"launch_us", launch},
               {"memory_floor_us", memory},
               {"copy_floor_us", copy},
               {"link_floor_us", link_us},
               {"link_bytes", link.bytes},
               {"link_bytes_per_us", link.bytes_per_us},
               {"link_counter_share", link.counted},
               {"operation_us", operation.median},
               {"operation_p10_us", operation.low},
               {"operation_p90_us", operation.high},
               {"ratio_to_floor", operation.median / floor},
               {"rank_medians_us", medians},
               {"wrong_elements", wrong}};
  if (dispatch) {
    line["plan_us"] = plan;
    line["uncached_us"] = uncached;
    line["uncached_extra_us"] = uncached - operation.median;
  }
  return line;
}

}  // namespace shunt::bench::gpu
