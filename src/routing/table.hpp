// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// A recorded file as numbers, before anything is known about their meaning.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "shunt/result.hpp"

namespace shunt::routing {

/// Rows of numbers. `slices` × `rows` × `columns`, row-major; lines[] locates rows of a text file.
struct Table {
  std::string path;
  std::int64_t slices = 1;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  bool sliced = false;   ///< The file had three dimensions.
  bool integral = true;  ///< integers[] holds the values, else reals[].
  std::vector<std::int64_t> integers;
  std::vector<double> reals;
  std::vector<std::int64_t> lines;

  /// "'ids.csv', line 12" or "'ids.npy', slice 1, token 7": where row `row` (over all slices)
  /// stands.
  [[nodiscard]] std::string place(std::int64_t row) const;
  [[nodiscard]] double real(std::size_t index) const {
    return integral ? static_cast<double>(integers[index]) : reals[index];
  }
};

/// NumPy's format, versions 1 to 3; little-endian, C order; integers of any size, float16/32/64.
[[nodiscard]] Result<Table> parse_npy(const std::string& path, std::string_view bytes);

/// Numbers separated by commas, semicolons, blanks or tabs, the same count on each line.
[[nodiscard]] Result<Table> parse_csv(const std::string& path, std::string_view bytes);

}  // namespace shunt::routing
