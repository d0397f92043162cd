// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "report/cell.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/numeric.hpp"
#include "base/units.hpp"

namespace shunt::report {

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
}

std::string pad(std::string_view text, std::size_t width, bool right) {
  const std::size_t used = display_width(text);
  const std::size_t blanks = width > used ? width - used : 0;
  std::string padded;
  padded.reserve(text.size() + blanks);
  if (right) padded.append(blanks, ' ');
  padded.append(text);
  if (!right) padded.append(blanks, ' ');
  return padded;
}

std::vector<std::string> wrap(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  std::string line;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t begin = text.find_first_not_of(' ', at);
    if (begin == std::string_view::npos) break;
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    at = end;
    if (!line.empty() && display_width(line) + 1 + display_width(word) > width) {
      lines.push_back(std::move(line));
      line.clear();
    }
    if (!line.empty()) line += ' ';
    line += word;
  }
  if (!line.empty()) lines.push_back(std::move(line));
  return lines;
}

Scale scale_for(Unit unit, double largest) {
  // A column keeps the unit in which its largest value has at most five digits before the point.
  switch (unit) {
    case Unit::kNs:
      if (largest < 1e4) return {1, "ns"};
      if (largest < 1e7) return {1e3, "µs"};
      if (largest < 1e10) return {1e6, "ms"};
      return {1e9, "s"};
    case Unit::kBytes:
      if (largest < 1e4) return {1, "B"};
      if (largest < 1e6) return {1e3, "kB"};
      if (largest < 1e10) return {1e6, "MB"};
      return {1e9, "GB"};
    case Unit::kGbPerS:
      return {1, "GB/s"};
    case Unit::kShare:
      return {0.01, "%"};
    case Unit::kText:
    case Unit::kCount:
    case Unit::kNumber:
      break;
  }
  return {1, ""};
}

Scale column_scale(const Table& table, std::size_t column) {
  const Unit unit = table.columns[column].unit;
  double largest = 0;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    const bool counts = unit == Unit::kNs ? table.columns[c].unit == unit : c == column;
    if (!counts || (c != column && table.columns[c].title.empty())) continue;
    for (const auto& row : table.rows) {
      largest = std::max(largest, std::fabs(as_number(row[c]).value_or(0)));
    }
  }
  return scale_for(unit, largest);
}

std::optional<double> as_number(const Value& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  if (const auto* real = std::get_if<double>(&value)) return *real;
  return std::nullopt;
}

std::string group_digits(std::int64_t value) {
  const std::string digits = std::to_string(value < 0 ? -value : value);
  std::string grouped = value < 0 ? "-" : "";
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) grouped += ' ';
    grouped += digits[i];
  }
  return grouped;
}

std::string cell_text(const Value& value, Unit unit, const Scale& scale) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "yes" : "no";
  const std::optional<double> real = as_number(value);
  if (!real || !std::isfinite(*real)) return "-";
  if (unit == Unit::kCount) return fmt::format("{:.0f}", *real);
  if (std::holds_alternative<std::int64_t>(value) && scale.divisor == 1) {
    return std::to_string(std::get<std::int64_t>(value));
  }
  const double scaled = *real / scale.divisor;
  // Times of a table share a unit: more than two decimals would only be noise beside the largest.
  if (unit == Unit::kNs)
    return fmt::format("{:.{}f}",
                       scaled,
                       std::fabs(scaled) < 9.995   ? 2
                       : std::fabs(scaled) < 99.95 ? 1
                                                   : 0);
  return format_significant(scaled);
}

std::string fact_text(const Value& value, Unit unit) {
  const std::optional<double> real = as_number(value);
  if (!real || unit == Unit::kText || unit == Unit::kNumber) return cell_text(value, unit, {});
  if (unit == Unit::kCount) return group_digits(saturating_round<std::int64_t>(*real));
  const Scale scale = scale_for(unit, std::fabs(*real));
  if (unit == Unit::kNs) return format_ns(saturating_cast<std::uint64_t>(std::fabs(*real)));
  if (unit == Unit::kBytes) {
    return *real < 0 ? "-" : format_bytes(saturating_round<std::uint64_t>(*real));
  }
  return fmt::format("{} {}", cell_text(value, unit, scale), scale.name);
}

}  // namespace shunt::report
