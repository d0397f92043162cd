// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Numbers with units, in and out. GB/s is 1e9 bytes/s, always; KiB/MiB/GiB are powers of 1024.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "shunt/result.hpp"

namespace shunt {

/// bytes / ns in GB/s (1e9 bytes per second); 0 for an empty interval.
[[nodiscard]] constexpr double gb_per_s(std::uint64_t bytes, std::uint64_t ns) {
  return ns == 0 ? 0.0 : static_cast<double>(bytes) / static_cast<double>(ns);
}

/// "14.7 MB", "1.02 GB": decimal, three significant digits.
[[nodiscard]] std::string format_bytes(std::uint64_t bytes);
/// "1 KiB", "64 MiB": binary, exact where it can be.
[[nodiscard]] std::string format_size(std::uint64_t bytes);
/// "812 ns", "41.3 µs", "1.92 ms", "3.10 s": three significant digits.
[[nodiscard]] std::string format_ns(std::uint64_t ns);
/// Three significant digits without exponent: "0.119", "47.5", "736".
[[nodiscard]] std::string format_significant(double value);
/// A link rating both ways: "400 Gb/s = 50 GB/s".
[[nodiscard]] std::string format_rating(double bytes_per_second);

/// "400Gbit", "400 Gb/s", "400G", "50GB/s", "1Gbit", "25 GB/s" → bytes per second. A bare number is
/// refused: the unit decides by a factor of eight.
[[nodiscard]] Result<double> parse_rate(std::string_view text);

}  // namespace shunt
