// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/wire_report.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/units.hpp"
#include "gpu/launch.hpp"

namespace shunt::bench::gpu {
namespace {

using nlohmann::json;

json to_json(const std::vector<WireSample>& samples) {
  json out = json::array();
  for (const WireSample& s : samples) {
    out.push_back(
        {s.first_post_ns, s.last_arrival_ns, s.arrived_bytes, s.operation_ns, s.progress_cpu_ns});
  }
  return out;
}

std::vector<WireSample> samples_of(const json& rank, const char* what) {
  std::vector<WireSample> samples;
  for (const json& s : rank[what]) samples.push_back({s[0], s[1], s[2], s[3], s[4]});
  return samples;
}

struct Spread {
  double low = 0;
  double median = 0;
  double high = 0;
};

Spread spread_of(std::vector<double> values) {
  std::ranges::sort(values);
  const auto at = [&](double share) {
    return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
  };
  return {at(0.1), at(0.5), at(0.9)};
}

/// One kind of transfer over all ranks: the window of a round runs from the first post anywhere to
/// the last arrival anywhere.
struct Series {
  std::vector<double> rates;  ///< GB/s, all ranks together.
  std::vector<double> window_us;
  std::vector<double> operation_us;  ///< Slowest rank.
  std::vector<double>
      cpu_share;  ///< Of one core, all progress threads of a rank; mean over the ranks.
};

Series series_of(const std::vector<json>& ranks, const char* what) {
  std::vector<std::vector<WireSample>> all;
  for (const json& rank : ranks) all.push_back(samples_of(rank, what));
  Series series;
  for (std::size_t i = 0; i < all[0].size(); ++i) {
    std::uint64_t first = all[0][i].first_post_ns;
    std::uint64_t last = 0;
    std::uint64_t bytes = 0;
    std::uint64_t longest = 0;
    double share = 0;
    for (const auto& rank : all) {
      const WireSample& s = rank[i];
      first = std::min(first, s.first_post_ns);
      last = std::max(last, s.last_arrival_ns);
      bytes += s.arrived_bytes;
      longest = std::max(longest, s.operation_ns);
      if (s.operation_ns > 0) {
        share += static_cast<double>(s.progress_cpu_ns) / static_cast<double>(s.operation_ns);
      }
    }
    series.rates.push_back(gb_per_s(bytes, last - first));
    series.window_us.push_back(static_cast<double>(last - first) / 1000);
    series.operation_us.push_back(static_cast<double>(longest) / 1000);
    series.cpu_share.push_back(share / static_cast<double>(all.size()));
  }
  return series;
}

json print_row(const char* name, const Series& series, double plain) {
  const Spread rate = spread_of(series.rates);
  const bool operation = plain > 0;
  fmt::print("{:<12} {:>8.2f} {:>15} {:>12.0f} {:>12} {:>10} {:>9}\n",
             name,
             rate.median,
             fmt::format("{:.2f}-{:.2f}", rate.low, rate.high),
             spread_of(series.window_us).median,
             operation ? fmt::format("{:.0f}", spread_of(series.operation_us).median) : "",
             operation ? fmt::format("{:.2f}", rate.median / plain) : "",
             operation ? fmt::format("{:.0f} %", 100 * spread_of(series.cpu_share).median) : "");
  return {{"what", name},
          {"gb_per_s", rate.median},
          {"gb_per_s_p10", rate.low},
          {"gb_per_s_p90", rate.high},
          {"window_us", spread_of(series.window_us).median},
          {"operation_us", spread_of(series.operation_us).median},
          {"ratio_to_plain", operation ? json(rate.median / plain) : json(nullptr)},
          {"progress_cpu_share", spread_of(series.cpu_share).median}};
}

}  // namespace

Result<json> report_wire(int nodes, int ranks_per_node, int gpus, const WireOptions& options) {
  auto ranks =
      launch_ranks(nodes * ranks_per_node, gpus, [&](bootstrap::World& world) -> Result<json> {
        auto samples = run_wire(world, ranks_per_node, options);
        if (!samples) return Unexpected(std::move(samples).error());
        return json{{"provider", samples->provider},
                    {"staging", samples->staging},
                    {"proxy_threads", samples->proxy_threads},
                    {"put_bytes", samples->put_bytes},
                    {"dispatch", to_json(samples->dispatch)},
                    {"combine", to_json(samples->combine)},
                    {"plain", to_json(samples->plain)},
                    {"largest_backlog", samples->largest_backlog},
                    {"mean_age_ns", samples->mean_age_ns},
                    {"largest_age_ns", samples->largest_age_ns},
                    {"largest_poll_gap_ns", samples->largest_poll_gap_ns},
                    {"timer_step_ns", samples->timer_step_ns},
                    {"timer_error_ns", samples->timer_error_ns}};
      });
  if (!ranks) return Unexpected(std::move(ranks).error());
  const json& first = ranks->front();
  fmt::print(
      "wire, {} nodes x {} ranks on one device, provider {}, chunks of {}, {} credits, {} queue "
      "pairs, {} progress threads a rank (plain puts: 1), {} blocks of which {} send and {} "
      "receive\nstaging {}\n",
      nodes,
      ranks_per_node,
      first["provider"].get<std::string>(),
      format_size(first["put_bytes"].get<std::uint64_t>()),
      options.credits,
      options.qps,
      first["proxy_threads"].get<int>(),
      options.blocks,
      options.rdma_blocks,
      options.rdma_blocks,
      first["staging"].get<std::string>());
  fmt::print("{:<12} {:>8} {:>15} {:>12} {:>12} {:>10} {:>9}\n",
             "what",
             "GB/s",
             "p10-p90",
             "window us",
             "op. us",
             "/plain",
             "proxy CPU");
  const Series plain = series_of(*ranks, "plain");
  const double plain_rate = spread_of(plain.rates).median;
  json rows = json::array();
  rows.push_back(print_row("plain puts", plain, 0));
  rows.push_back(print_row("dispatch", series_of(*ranks, "dispatch"), plain_rate));
  rows.push_back(print_row("combine", series_of(*ranks, "combine"), plain_rate));
  const auto worst = [&](const char* what) {
    std::uint64_t most = 0;
    for (const json& rank : *ranks) most = std::max(most, rank[what].get<std::uint64_t>());
    return most;
  };
  fmt::print(
      "progress threads, worst of any rank: {} descriptors waited at once, mean age {}, oldest {}, "
      "longest "
      "gap between polls {}; device timer: steps of {} ns, offset to the host known to {} ns\n",
      worst("largest_backlog"),
      format_ns(worst("mean_age_ns")),
      format_ns(worst("largest_age_ns")),
      format_ns(worst("largest_poll_gap_ns")),
      worst("timer_step_ns"),
      worst("timer_error_ns"));
  return json{{"nodes", nodes},
              {"ranks_per_node", ranks_per_node},
              {"provider", first["provider"]},
              {"staging", first["staging"]},
              {"put_bytes", first["put_bytes"]},
              {"proxy_threads", first["proxy_threads"]},
              {"rows", rows},
              {"largest_backlog", worst("largest_backlog")},
              {"mean_age_ns", worst("mean_age_ns")},
              {"largest_age_ns", worst("largest_age_ns")},
              {"largest_poll_gap_ns", worst("largest_poll_gap_ns")},
              {"timer_step_ns", worst("timer_step_ns")},
              {"timer_error_ns", worst("timer_error_ns")}};
}

}  // namespace shunt::bench::gpu
