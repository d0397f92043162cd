// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include <charconv>

#include "base/error.hpp"
#include "routing/table.hpp"

namespace shunt::routing {
namespace {

constexpr std::string_view kSeparators = ",; \t\r";
constexpr std::size_t kShownCharacters = 40;

/// Appends the numbers of `line`; the offending word if there is one that is not a number.
std::string_view append_numbers(std::string_view line, Table& table, std::int64_t& count) {
  while (true) {
    const std::size_t begin = line.find_first_not_of(kSeparators);
    if (begin == std::string_view::npos) return {};
    line = line.substr(begin);
    const std::string_view word = line.substr(0, line.find_first_of(kSeparators));
    line = line.substr(word.size());
    double value = 0.0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || end != word.data() + word.size()) return word;
    table.reals.push_back(value);
    ++count;
  }
}

}  // namespace

Result<Table> parse_csv(const std::string& path, std::string_view bytes) {
  constexpr std::string_view kByteOrderMark("\xef\xbb\xbf", 3);
  if (bytes.substr(0, 3) == kByteOrderMark) bytes.remove_prefix(3);
  Table table;
  table.path = path;
  table.integral = false;
  bool names_allowed = true;
  for (std::int64_t number = 1; !bytes.empty(); ++number) {
    const std::size_t newline = bytes.find('\n');
    const std::string_view line = bytes.substr(0, newline);
    bytes.remove_prefix(newline == std::string_view::npos ? bytes.size() : newline + 1);
    const std::size_t first = line.find_first_not_of(kSeparators);
    if (first == std::string_view::npos || line[first] == '#') continue;
    const std::size_t before = table.reals.size();
    std::int64_t count = 0;
    const std::string_view wrong = append_numbers(line, table, count);
    if (!wrong.empty() && names_allowed && count == 0) {
      names_allowed = false;
      table.reals.resize(before);
      continue;
    }
    names_allowed = false;
    if (!wrong.empty()) {
      return fail(ErrorCode::kCorrupt,
                  ErrorScope::kUsage,
                  "routing file '{}', line {}: '{}' is not a number",
                  path,
                  number,
                  wrong.substr(0, kShownCharacters));
    }
    if (table.rows > 0 && count != table.columns) {
      return fail(ErrorCode::kCorrupt,
                  ErrorScope::kUsage,
                  "routing file '{}', line {}: {} numbers where line {} has {}",
                  path,
                  number,
                  count,
                  table.lines.front(),
                  table.columns);
    }
    table.columns = count;
    ++table.rows;
    table.lines.push_back(number);
  }
  return table;
}

}  // namespace shunt::routing
