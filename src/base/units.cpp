// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "base/units.hpp"

#include <array>
#include <charconv>
#include <cmath>

#include "base/error.hpp"

namespace shunt {

std::string format_significant(double value) {
  if (value == 0.0) return "0";
  if (!std::isfinite(value)) return "-";
  const int magnitude = static_cast<int>(std::floor(std::log10(std::fabs(value))));
  const int decimals = magnitude >= 2 ? 0 : std::min(2 - magnitude, 9);
  return fmt::format("{:.{}f}", value, decimals);
}

std::string format_bytes(std::uint64_t bytes) {
  static constexpr std::array<const char*, 6> kUnits{"B", "kB", "MB", "GB", "TB", "PB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 999.5 && unit + 1 < kUnits.size()) {
    value /= 1000.0;
    ++unit;
  }
  if (unit == 0) return fmt::format("{} B", bytes);
  return fmt::format("{} {}", format_significant(value), kUnits[unit]);
}

std::string format_size(std::uint64_t bytes) {
  static constexpr std::array<const char*, 5> kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  double value = static_cast<double>(bytes);
  while (value >= 1024.0 && unit + 1 < kUnits.size()) {
    value /= 1024.0;
    ++unit;
  }
  if (value == std::floor(value)) return fmt::format("{:.0f} {}", value, kUnits[unit]);
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string format_ns(std::uint64_t ns) {
  const double value = static_cast<double>(ns);
  if (ns < 1000) return fmt::format("{} ns", ns);
  if (ns < 1'000'000) return fmt::format("{} µs", format_significant(value / 1e3));
  if (ns < 1'000'000'000) return fmt::format("{} ms", format_significant(value / 1e6));
  return fmt::format("{} s", format_significant(value / 1e9));
}

std::string format_rating(double bytes_per_second) {
  return fmt::format("{} Gb/s = {} GB/s",
                     format_significant(bytes_per_second * 8 / 1e9),
                     format_significant(bytes_per_second / 1e9));
}

Result<double> parse_rate(std::string_view text) {
  const auto refuse = [&] {
    return usage_error(
        "rate '{}' is not understood; give a number with a unit, such as 400Gbit, 100Mbit or "
        "50GB/s",
        text);
  };
  double value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || !(value > 0) || !std::isfinite(value)) return refuse();
  std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  while (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);
  if (unit.empty()) return refuse();
  double scale = 1;
  switch (unit.front()) {
    case 'k':
    case 'K':
      scale = 1e3;
      break;
    case 'm':
    case 'M':
      scale = 1e6;
      break;
    case 'g':
    case 'G':
      scale = 1e9;
      break;
    case 't':
    case 'T':
      scale = 1e12;
      break;
    default:
      return refuse();
  }
  unit.remove_prefix(1);
  for (std::string_view bits : {"", "bit", "bit/s", "b/s", "bps", "bits/s"}) {
    if (unit == bits) return value * scale / 8;
  }
  for (std::string_view bytes : {"B/s", "Bps", "Byte/s", "bytes/s", "B"}) {
    if (unit == bytes) return value * scale;
  }
  return refuse();
}

}  // namespace shunt
