// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Private to report/: values as text for people.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "report/report.hpp"

namespace shunt::report {

/// Terminal columns that UTF-8 text takes: one a code point; shunt writes no wide or combining
/// ones.
[[nodiscard]] std::size_t display_width(std::string_view text);

/// Pads to `width` columns; `right` puts the text at the right.
[[nodiscard]] std::string pad(std::string_view text, std::size_t width, bool right);

/// Breaks at blanks into lines of at most `width` columns; a longer word stands alone.
[[nodiscard]] std::vector<std::string> wrap(std::string_view text, std::size_t width);

/// How the numbers of a column are scaled, and what the header says.
struct Scale {
  double divisor = 1;
  std::string name;  ///< "ms"; empty for counts and text.
};
/// One scale for all values, chosen by the largest.
[[nodiscard]] Scale scale_for(Unit unit, double largest);

/// The scale of a table's column. Times share one over the table, so that they can be compared
/// across.
[[nodiscard]] Scale column_scale(const Table& table, std::size_t column);

/// "-" for an unavailable value.
[[nodiscard]] std::string cell_text(const Value& value, Unit unit, const Scale& scale);

/// A value with its own unit, for lists of facts: "29.4 MB", "0.119 GB/s", "95.1 %".
[[nodiscard]] std::string fact_text(const Value& value, Unit unit);

/// The value as a number; nullopt for text, flags and unavailable ones.
[[nodiscard]] std::optional<double> as_number(const Value& value);

/// "1 234 567": thousands apart, for counts in lists.
[[nodiscard]] std::string group_digits(std::int64_t value);

}  // namespace shunt::report
