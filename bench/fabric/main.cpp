// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/units.hpp"
#include "plain_puts.hpp"

namespace {

using shunt::bench::PlainPuts;
using shunt::bench::PlainPutsOptions;
using shunt::bench::Repetition;

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

std::vector<double> each(const std::vector<Repetition>& repetitions,
                         const std::function<double(const Repetition&)>& value) {
  std::vector<double> values;
  for (const Repetition& one : repetitions) values.push_back(value(one));
  return values;
}

void print(const PlainPutsOptions& options, const PlainPuts& results) {
  fmt::print("plain puts, provider {}, {} queue pairs, {} in flight, {} repetitions of {}\n",
             results.provider,
             options.fabric.qps,
             options.window,
             options.repetitions,
             shunt::format_bytes(options.bytes_per_repetition));
  fmt::print("{:>9}  {:>11}  {:>15}  {:>8}  {:>9}  {:>10}\n",
             "size",
             "GB/s median",
             "min … max",
             "CPU s/GB",
             "puts/s",
             "allocs/put");
  for (std::size_t i = 0; i < options.sizes.size(); ++i) {
    const auto& repetitions = results.by_size[i];
    const auto rates =
        each(repetitions, [](const Repetition& r) { return shunt::gb_per_s(r.bytes, r.ns); });
    const auto cpu = each(repetitions, [](const Repetition& r) {
      return static_cast<double>(r.cpu_ns) /
             static_cast<double>(std::max<std::uint64_t>(r.bytes, 1));
    });
    const auto puts = each(repetitions, [](const Repetition& r) {
      return static_cast<double>(r.puts) * 1e9 / static_cast<double>(r.ns);
    });
    const auto allocations = each(repetitions, [](const Repetition& r) {
      return static_cast<double>(r.allocations) / static_cast<double>(r.puts);
    });
    const auto [low, high] = std::minmax_element(rates.begin(), rates.end());
    fmt::print(
        "{:>9}  {:>11}  {:>15}  {:>8.2f}  {:>9.0f}  {:>10.3f}\n",
        shunt::format_size(options.sizes[i]),
        shunt::format_significant(median(rates)),
        fmt::format("{} … {}", shunt::format_significant(*low), shunt::format_significant(*high)),
        median(cpu),
        median(puts),
        median(allocations));
  }
  fmt::print(
      "GB/s: from the first post to the last arrival. CPU s: user and system, both processes.\n");
}

}  // namespace

int main(int argc, char** argv) {
  PlainPutsOptions options;
  CLI::App app("Plain puts between two processes: what the fabric alone carries");
  app.add_option("--provider", options.fabric.provider, "tcp (or net), verbs, tcp;ofi_rxm, …");
  app.add_option("--domain", options.fabric.domain, "device of the provider");
  app.add_option("--qps", options.fabric.qps, "queue pairs")->capture_default_str();
  app.add_option("--size", options.sizes, "bytes per put, several allowed")->delimiter(',');
  app.add_option("--bytes", options.bytes_per_repetition, "bytes per repetition")
      ->capture_default_str();
  app.add_option("--repetitions", options.repetitions)->capture_default_str();
  app.add_option("--window", options.window, "puts in flight")->capture_default_str();
  app.add_option("--spin-ns", options.spin_ns, "polling without events before an end sleeps")
      ->capture_default_str();
  app.add_option("--sender-namespace", options.namespaces[0], "as of `ip netns`");
  app.add_option("--receiver-namespace", options.namespaces[1], "as of `ip netns`");
  app.add_option("--sender-address", options.addresses[0], "own address of the sender");
  app.add_option("--receiver-address", options.addresses[1], "own address of the receiver");
  CLI11_PARSE(app, argc, argv);

  const auto results = shunt::bench::measure_plain_puts(options);
  if (!results) {
    fmt::print(stderr, "bench_fabric: {}\n", results.error().to_string());
    return 1;
  }
  print(options, *results);
  return 0;
}
