// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Small scanners over one line of text. None allocates beyond its result, none recurses, each is
// linear in the line: safe on any input. (std::regex recurses per character: never use it here.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shunt::logs {

/// A number as printed: its value, how many decimals it had, and where it stood.
struct Number {
  double value = 0;
  int decimals = 0;
  std::size_t begin = 0;
  std::size_t end = 0;  ///< One past its last character.

  /// Half a unit of the last printed place: the rounding error of the print.
  [[nodiscard]] double half_ulp() const;
};

/// A rank, device or port number: nullopt below zero and beyond six digits, which nothing has.
[[nodiscard]] std::optional<int> index_of(const Number& number);

[[nodiscard]] bool is_space(char c);
[[nodiscard]] bool is_digit(char c);
[[nodiscard]] bool is_alpha(char c);
[[nodiscard]] char to_lower(char c);
[[nodiscard]] std::string lowered(std::string_view text);
[[nodiscard]] std::string_view trim(std::string_view text);
[[nodiscard]] bool starts_with_ci(std::string_view text, std::string_view prefix);
[[nodiscard]] bool equals_ci(std::string_view a, std::string_view b);
/// Position of `needle` at or after `from`, ASCII case ignored; npos if absent.
[[nodiscard]] std::size_t find_ci(std::string_view text,
                                  std::string_view needle,
                                  std::size_t from = 0);
[[nodiscard]] bool contains_ci(std::string_view text, std::string_view needle);
/// As find_ci, but the match may not touch a letter or digit on either side.
[[nodiscard]] std::size_t find_word_ci(std::string_view text,
                                       std::string_view word,
                                       std::size_t from = 0);

/// Pieces between runs of white space.
[[nodiscard]] std::vector<std::string_view> split_space(std::string_view text);
/// Pieces between separators, trimmed; empty ones kept.
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);

/// The number that starts at `pos` (after spaces, "~", "≈", "<", "="): sign, digits with
/// thousands separators, fraction, exponent.
[[nodiscard]] std::optional<Number> number_at(std::string_view text, std::size_t pos);
/// The whole of `text` is a number.
[[nodiscard]] std::optional<Number> whole_number(std::string_view text);
/// The first number that follows `key`, with `unit` right after it (spaces allowed) if given. A
/// number at the very end of a cut line has no unit and is not returned.
[[nodiscard]] std::optional<Number> number_after(std::string_view text,
                                                 std::string_view key,
                                                 std::string_view unit = {},
                                                 std::size_t from = 0);
/// The number that ends right before `unit` (spaces allowed), first such place at or after `from`.
[[nodiscard]] std::optional<Number> number_before(std::string_view text,
                                                  std::string_view unit,
                                                  std::size_t from = 0);
/// All numbers of the line, left to right; digits inside words are not numbers.
[[nodiscard]] std::vector<Number> all_numbers(std::string_view text);

/// "us", "µs", "usec", "ms", "s", "ns" → factor to microseconds.
[[nodiscard]] std::optional<double> time_unit_us(std::string_view unit);
/// "B", "KB", "KiB", "MB", "MiB", … → bytes; binary for the i forms, decimal otherwise.
[[nodiscard]] std::optional<double> size_unit(std::string_view unit);
/// Whether a number can be a count, time, rate or size of a machine. Beyond (as damaged exponents
/// give) it is none, and products of figures stay finite.
[[nodiscard]] inline bool is_figure(double value) {
  const double magnitude = value < 0 ? -value : value;
  return magnitude == 0 || (magnitude > 1e-30 && magnitude < 1e30);
}

/// "4K", "16M", "8 KiB", "1.5GB" → bytes, suffixes binary (command-line habit of the benchmarks).
[[nodiscard]] std::optional<double> parse_binary_size(std::string_view text);

}  // namespace shunt::logs
