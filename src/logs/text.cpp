// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "logs/text.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/numeric.hpp"

namespace shunt::logs {
namespace {

constexpr std::string_view kApproximately = "\xE2\x89\x88";  // ≈

/// Index of the first character that may belong to a number, after decoration.
std::size_t skip_decoration(std::string_view text, std::size_t pos) {
  while (pos < text.size()) {
    const char c = text[pos];
    if (is_space(c) || c == '~' || c == '<' || c == '=' || c == '*' || c == '_' || c == '`') {
      ++pos;
    } else if (text.substr(pos, kApproximately.size()) == kApproximately) {
      pos += kApproximately.size();
    } else {
      break;
    }
  }
  return pos;
}

/// End of an integer part that starts at `pos`, thousands separators included ("1,234,567").
std::size_t integer_end(std::string_view text, std::size_t pos) {
  const std::size_t begin = pos;
  while (pos < text.size() && is_digit(text[pos])) ++pos;
  if (pos - begin == 0 || pos - begin > 3) return pos;
  while (pos + 3 < text.size() && text[pos] == ',' && is_digit(text[pos + 1]) &&
         is_digit(text[pos + 2]) && is_digit(text[pos + 3]) &&
         (pos + 4 >= text.size() || !is_digit(text[pos + 4]))) {
    pos += 4;
  }
  return pos;
}

bool glued_to_word(std::string_view text, std::size_t begin) {
  if (begin == 0) return false;
  const char before = text[begin - 1];
  // "2x400" is two numbers, "0x400" is one.
  if (before == 'x' && begin >= 2 && is_digit(text[begin - 2]) &&
      !(text[begin - 2] == '0' && (begin == 2 || !is_digit(text[begin - 3])))) {
    return false;
  }
  return is_alpha(before) || before == '_' || is_digit(before);
}

}  // namespace

double Number::half_ulp() const {
  return 0.5 * std::pow(10.0, -decimals);
}

std::optional<int> index_of(const Number& number) {
  const auto index = checked_cast<int>(number.value);
  return index && *index >= 0 && *index < 1'000'000 ? index : std::nullopt;
}

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_alpha(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
char to_lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

std::string lowered(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = to_lower(c);
  return out;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && (is_space(text.front()) || text.front() == '\n')) text.remove_prefix(1);
  while (!text.empty() && (is_space(text.back()) || text.back() == '\n')) text.remove_suffix(1);
  return text;
}

bool starts_with_ci(std::string_view text, std::string_view prefix) {
  return text.size() >= prefix.size() && equals_ci(text.substr(0, prefix.size()), prefix);
}

bool equals_ci(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (to_lower(a[i]) != to_lower(b[i])) return false;
  }
  return true;
}

std::size_t find_ci(std::string_view text, std::string_view needle, std::size_t from) {
  if (needle.empty() || text.size() < needle.size()) return std::string_view::npos;
  for (std::size_t i = from; i + needle.size() <= text.size(); ++i) {
    if (to_lower(text[i]) == to_lower(needle[0]) &&
        equals_ci(text.substr(i, needle.size()), needle)) {
      return i;
    }
  }
  return std::string_view::npos;
}

bool contains_ci(std::string_view text, std::string_view needle) {
  return find_ci(text, needle) != std::string_view::npos;
}

std::size_t find_word_ci(std::string_view text, std::string_view word, std::size_t from) {
  const auto is_word = [](char c) { return is_alpha(c) || is_digit(c); };
  for (std::size_t at = find_ci(text, word, from); at != std::string_view::npos;
       at = find_ci(text, word, at + 1)) {
    const bool left = at == 0 || !is_word(text[at - 1]);
    const std::size_t end = at + word.size();
    if (left && (end == text.size() || !is_word(text[end]))) return at;
  }
  return std::string_view::npos;
}

std::vector<std::string_view> split_space(std::string_view text) {
  std::vector<std::string_view> out;
  std::size_t pos = 0;
  while (pos < text.size()) {
    while (pos < text.size() && is_space(text[pos])) ++pos;
    const std::size_t begin = pos;
    while (pos < text.size() && !is_space(text[pos])) ++pos;
    if (pos > begin) out.push_back(text.substr(begin, pos - begin));
  }
  return out;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> out;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || text[i] == separator) {
      out.push_back(trim(text.substr(begin, i - begin)));
      begin = i + 1;
    }
  }
  return out;
}

std::optional<Number> number_at(std::string_view text, std::size_t pos) {
  pos = skip_decoration(text, pos);
  const std::size_t begin = pos;
  if (pos < text.size() && (text[pos] == '-' || text[pos] == '+')) ++pos;
  const std::size_t digits = pos;
  pos = integer_end(text, pos);
  std::string plain;
  if (begin < digits && text[begin] == '-') plain.push_back('-');
  for (std::size_t i = digits; i < pos; ++i) {
    if (text[i] != ',') plain.push_back(text[i]);
  }
  int decimals = 0;
  if (pos + 1 < text.size() && text[pos] == '.' && is_digit(text[pos + 1])) {
    plain.push_back('.');
    for (++pos; pos < text.size() && is_digit(text[pos]); ++pos, ++decimals) {
      plain.push_back(text[pos]);
    }
  }
  if (pos == digits || (decimals == 0 && plain.empty())) return std::nullopt;
  if (pos + 1 < text.size() && (text[pos] == 'e' || text[pos] == 'E')) {
    std::size_t e = pos + 1;
    if (text[e] == '-' || text[e] == '+') ++e;
    if (e < text.size() && is_digit(text[e]) && e + 4 > pos) {
      const std::size_t exponent = pos;
      while (e < text.size() && is_digit(text[e])) ++e;
      const bool word = e < text.size() && is_alpha(text[e]);
      if (!word && e - exponent <= 6) {
        plain.push_back('e');
        for (std::size_t i = exponent + 1; i < e; ++i) {
          if (text[i] != '+') plain.push_back(text[i]);
        }
        pos = e;
      }
    }
  }
  double value = 0;
  const auto [end, error] = std::from_chars(plain.data(), plain.data() + plain.size(), value);
  if (error != std::errc() || end == plain.data() || !is_figure(value)) return std::nullopt;
  return Number{value, decimals, begin, pos};
}

std::optional<Number> whole_number(std::string_view text) {
  text = trim(text);
  const auto number = number_at(text, 0);
  if (!number || skip_decoration(text, number->end) != text.size()) return std::nullopt;
  return number;
}

std::optional<Number> number_after(std::string_view text,
                                   std::string_view key,
                                   std::string_view unit,
                                   std::size_t from) {
  for (std::size_t at = find_ci(text, key, from); at != std::string_view::npos;
       at = find_ci(text, key, at + 1)) {
    const auto number = number_at(text, at + key.size());
    if (!number) continue;
    if (unit.empty()) return number;
    const std::size_t after = skip_decoration(text, number->end);
    if (starts_with_ci(text.substr(after), unit)) return number;
  }
  return std::nullopt;
}

std::optional<Number> number_before(std::string_view text,
                                    std::string_view unit,
                                    std::size_t from) {
  for (std::size_t at = find_ci(text, unit, from); at != std::string_view::npos;
       at = find_ci(text, unit, at + 1)) {
    std::size_t end = at;
    while (end > from && (is_space(text[end - 1]) || text[end - 1] == '*' || text[end - 1] == '_' ||
                          text[end - 1] == '`')) {
      --end;
    }
    std::size_t begin = end;
    while (begin > from &&
           (is_digit(text[begin - 1]) || text[begin - 1] == '.' || text[begin - 1] == ',')) {
      --begin;
    }
    while (begin < end && !is_digit(text[begin])) ++begin;
    if (begin == end) continue;
    const auto number = number_at(text, begin);
    if (number && number->end == end) return number;
  }
  return std::nullopt;
}

std::vector<Number> all_numbers(std::string_view text) {
  std::vector<Number> out;
  std::size_t pos = 0;
  while (pos < text.size()) {
    if (is_digit(text[pos]) && !glued_to_word(text, pos)) {
      const bool negative = pos > 0 && text[pos - 1] == '-' && !glued_to_word(text, pos - 1);
      const auto number = number_at(text, negative ? pos - 1 : pos);
      if (number && number->end > pos) {
        out.push_back(*number);
        pos = number->end;
        continue;
      }
    }
    ++pos;
  }
  return out;
}

std::optional<double> time_unit_us(std::string_view unit) {
  unit = trim(unit);
  static constexpr std::array<std::pair<std::string_view, double>, 12> kUnits{{
      {"us", 1.0},
      {"usec", 1.0},
      {"\xC2\xB5s", 1.0},  // µ, micro sign
      {"\xCE\xBCs", 1.0},  // μ, Greek letter
      {"microseconds", 1.0},
      {"ms", 1e3},
      {"msec", 1e3},
      {"milliseconds", 1e3},
      {"s", 1e6},
      {"sec", 1e6},
      {"seconds", 1e6},
      {"ns", 1e-3},
  }};
  for (const auto& [name, factor] : kUnits) {
    if (equals_ci(unit, name)) return factor;
  }
  return std::nullopt;
}

std::optional<double> size_unit(std::string_view unit) {
  unit = trim(unit);
  if (equals_ci(unit, "b") || equals_ci(unit, "byte") || equals_ci(unit, "bytes")) return 1.0;
  static constexpr std::string_view kPrefixes = "kmgt";
  if (unit.empty()) return std::nullopt;
  const std::size_t power = kPrefixes.find(to_lower(unit[0]));
  if (power == std::string_view::npos) return std::nullopt;
  const std::string_view rest = unit.substr(1);
  const double exponent = static_cast<double>(power + 1);
  if (equals_ci(rest, "ib")) return std::pow(1024.0, exponent);
  if (equals_ci(rest, "b")) return std::pow(1000.0, exponent);
  return std::nullopt;
}

std::optional<double> parse_binary_size(std::string_view text) {
  text = trim(text);
  const auto number = number_at(text, 0);
  if (!number || number->value < 0) return std::nullopt;
  const std::string_view unit = trim(text.substr(number->end));
  if (unit.empty() || equals_ci(unit, "b") || equals_ci(unit, "bytes")) return number->value;
  const std::size_t power = std::string_view("kmgt").find(to_lower(unit[0]));
  const std::string_view rest = unit.substr(1);
  if (power == std::string_view::npos ||
      !(rest.empty() || equals_ci(rest, "b") || equals_ci(rest, "ib"))) {
    return std::nullopt;
  }
  return number->value * std::pow(1024.0, static_cast<double>(power + 1));
}

}  // namespace shunt::logs
