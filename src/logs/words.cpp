// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "logs/words.hpp"

#include <charconv>

#include "logs/text.hpp"

namespace shunt::logs {
namespace {

constexpr std::string_view kNoBreakSpace = "\xC2\xA0";

/// Length of a separator at `at`, 0 if there is none.
std::size_t separator_at(std::string_view text, std::size_t at, std::string_view extra) {
  if (is_space(text[at]) || extra.find(text[at]) != std::string_view::npos) {
    return 1;
  }
  return text.substr(at, 2) == kNoBreakSpace ? 2 : 0;
}

}  // namespace

std::vector<std::string_view> split_words(std::string_view text, std::string_view extra) {
  std::vector<std::string_view> words;
  std::size_t begin = 0;
  std::size_t at = 0;
  const auto close = [&] {
    if (at > begin) {
      words.push_back(text.substr(begin, at - begin));
    }
  };
  while (at < text.size()) {
    const std::size_t gap = separator_at(text, at, extra);
    if (gap == 0) {
      ++at;
      continue;
    }
    close();
    at += gap;
    begin = at;
  }
  close();
  return words;
}

std::optional<std::uint64_t> parse_count(std::string_view word) {
  if (word.empty() || !is_digit(word.front()) || !is_digit(word.back())) {
    return std::nullopt;
  }
  std::uint64_t value = 0;
  std::size_t since_separator = 0;
  bool separated = false;
  for (const char c : word) {
    if (c == ',' || c == '_' || c == '\'') {
      if (separated ? since_separator != 3 : since_separator > 3) {
        return std::nullopt;
      }
      separated = true;
      since_separator = 0;
      continue;
    }
    if (!is_digit(c)) {
      return std::nullopt;
    }
    const auto digit = static_cast<std::uint64_t>(c - '0');
    if (value > (UINT64_MAX - digit) / 10) {
      return std::nullopt;
    }
    value = value * 10 + digit;
    ++since_separator;
  }
  if (separated && since_separator != 3) {
    return std::nullopt;
  }
  return value;
}

std::optional<std::uint64_t> parse_hex(std::string_view word) {
  if (word.substr(0, 2) == "0x" || word.substr(0, 2) == "0X") {
    word.remove_prefix(2);
  }
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value, 16);
  if (word.empty() || error != std::errc{} || end != word.data() + word.size()) {
    return std::nullopt;
  }
  return value;
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::optional<int> small_count(std::string_view word) {
  const auto count = parse_count(word);
  return count && *count < 1'000'000 ? std::optional(static_cast<int>(*count)) : std::nullopt;
}

}  // namespace shunt::logs
