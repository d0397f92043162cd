// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "logs/links/speeds.hpp"

#include <array>
#include <cmath>

#include "logs/text.hpp"

namespace shunt::logs {
namespace {

struct Generation {
  double lane_gbps;  ///< Signalling rate as iblinkinfo prints it.
  double data_gbps;  ///< Per lane, after line coding and FEC.
  std::string_view name;
};

// InfiniBand Architecture Specification, link speeds.
constexpr std::array<Generation, 9> kGenerations = {{
    {2.5, 2.0, "SDR"},
    {5.0, 4.0, "DDR"},
    {10.0, 8.0, "QDR"},
    {10.3125, 10.0, "FDR10"},
    {14.0625, 13.64, "FDR"},
    {25.78125, 25.0, "EDR"},
    {53.125, 50.0, "HDR"},
    {106.25, 100.0, "NDR"},
    {212.5, 200.0, "XDR"},
}};

const Generation* generation_of(double lane_gbps) {
  for (const Generation& generation : kGenerations) {
    if (std::abs(generation.lane_gbps - lane_gbps) < 0.02 * generation.lane_gbps) {
      return &generation;
    }
  }
  return nullptr;
}

}  // namespace

double infiniband_gbit(int lanes, double lane_gbps) {
  const Generation* found = generation_of(lane_gbps);
  return lanes * (found != nullptr ? found->data_gbps : lane_gbps);
}

std::string_view infiniband_name(double lane_gbps) {
  const Generation* found = generation_of(lane_gbps);
  return found != nullptr ? found->name : std::string_view{};
}

std::optional<double> named_gbit(int lanes, std::string_view generation) {
  for (const Generation& known : kGenerations) {
    if (equals_ci(known.name, trim(generation))) return lanes * known.data_gbps;
  }
  return std::nullopt;
}

std::optional<double> printed_gbit(std::string_view text) {
  const auto number = number_at(text, 0);
  if (!number || number->value <= 0 || number->value > 1e9) return std::nullopt;
  const std::string unit = lowered(trim(text.substr(number->end)));
  if (unit.empty() || unit[0] == '(' || unit.substr(0, 2) == "gb") return number->value;
  if (unit.substr(0, 2) == "mb") return number->value / 1000.0;
  return std::nullopt;
}

double pcie_gb_per_s(double gigatransfers, int lanes) {
  // 128b/130b from Gen3 on; about 80 % of it is left for payload.
  if (gigatransfers < 7.9) return 0;
  return gigatransfers * lanes * (128.0 / 130.0) / 8.0 * 0.8;
}

}  // namespace shunt::logs
