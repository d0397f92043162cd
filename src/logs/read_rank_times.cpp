// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// One time a rank, in whatever words: "Rank 5: mean of the last 40 rounds: 612.5 us", "[rank 4]
// dispatch latency 0.489 ms". Lines that say the same of at least three ranks.
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "logs/readers.hpp"
#include "logs/text.hpp"

namespace shunt::logs {
namespace {

constexpr std::size_t kLongestLine = 200;

struct RankTime {
  std::size_t line = 0;
  int rank = 0;
  double us = 0;
  std::string words;  ///< Before the time, as printed.
};

/// Takes "Rank 4:", "rank4 -" off the front.
std::optional<int> take_rank(std::string_view& text) {
  for (const std::string_view word : {"global rank", "rank", "pe"}) {
    if (!starts_with_ci(text, word)) continue;
    const auto number = number_at(text, word.size());
    if (!number || number->decimals > 0 || number->begin > word.size() + 2) continue;
    const auto rank = index_of(*number);
    if (!rank) continue;
    std::string_view rest = text.substr(number->end);
    if (rest.empty() || is_alpha(rest[0]) || is_digit(rest[0])) continue;
    while (!rest.empty() && (is_space(rest[0]) || rest[0] == ':' || rest[0] == ',' ||
                             rest[0] == '-' || rest[0] == '|')) {
      rest.remove_prefix(1);
    }
    text = rest;
    return rank;
  }
  return std::nullopt;
}

/// The time that ends the line, in µs. `words`: what stands before it.
std::optional<double> take_time(std::string_view text, std::string& words) {
  const auto numbers = all_numbers(text);
  if (numbers.empty()) return std::nullopt;
  const Number& last = numbers.back();
  const std::string_view unit = trim(text.substr(last.end));
  const auto factor = time_unit_us(unit);
  // Whole seconds are of starts and loads, not of an operation.
  if (!factor || *factor > 1000 || last.value <= 0) return std::nullopt;
  words = text.substr(0, last.begin);
  while (!words.empty() && (is_space(words.back()) || words.back() == ':' || words.back() == '=')) {
    words.pop_back();
  }
  return last.value * *factor;
}

/// The same for lines that differ in their numbers only.
std::string label_of(std::string_view words) {
  std::string label;
  for (const char c : words) label += is_digit(c) ? '#' : to_lower(c);
  return label;
}

/// Words of a measured operation, and none of a start.
bool is_measurement(std::string_view label) {
  static constexpr std::array<std::string_view, 16> kWords{"dispatch",
                                                           "combine",
                                                           "latency",
                                                           "average",
                                                           "avg",
                                                           "mean",
                                                           "median",
                                                           "round",
                                                           "iter",
                                                           "step",
                                                           "elapsed",
                                                           "duration",
                                                           "all2all",
                                                           "all-to-all",
                                                           "alltoall",
                                                           "took"};
  static constexpr std::array<std::string_view, 9> kNot{
      "load", "init", "compil", "warm", "build", "import", "setup", "captur", "connect"};
  const auto in = [label](std::string_view word) { return contains_ci(label, word); };
  return (label.empty() || std::ranges::any_of(kWords, in)) && std::ranges::none_of(kNot, in);
}

Operation operation_of(std::string_view text) {
  const bool dispatch = contains_ci(text, "dispatch");
  const bool combine = contains_ci(text, "combine");
  if (dispatch && combine) return Operation::kPair;
  if (dispatch) return Operation::kDispatch;
  return combine ? Operation::kCombine : Operation::kUnknown;
}

/// What the label, the heading or the sentence just above names.
Operation operation_near(const Document& document, std::size_t line, const std::string& label) {
  Operation operation = operation_of(label);
  if (operation == Operation::kUnknown) operation = operation_of(heading_of(document, line));
  for (std::size_t back = 1; back <= 3 && back <= line && operation == Operation::kUnknown;
       ++back) {
    operation = operation_of(document.lines[line - back].text);
  }
  return operation;
}

}  // namespace

void read_rank_times(const Document& document, Sink& sink) {
  std::map<std::string, std::vector<RankTime>> by_label;
  for (std::size_t i = 0; i < document.lines.size(); ++i) {
    const Line& line = document.lines[i];
    if (sink.claimed(i) || line.text.empty() || line.text.size() > kLongestLine) continue;
    std::string_view text = line.text;
    const auto named = take_rank(text);
    const auto rank = named ? named : line.rank;
    if (!rank) continue;
    std::string words;
    const auto us = take_time(text, words);
    const std::string label = label_of(words);
    if (us && is_measurement(label)) by_label[label].push_back({i, *rank, *us, std::move(words)});
  }
  for (const auto& [label, times] : by_label) {
    std::set<int> ranks;
    for (const RankTime& time : times) ranks.insert(time.rank);
    if (ranks.size() < 3) continue;
    const Operation operation = operation_near(document, times.front().line, label);
    const std::string& first = times.front().words;
    const bool alike =
        std::ranges::all_of(times, [&first](const RankTime& time) { return time.words == first; });
    for (const RankTime& time : times) {
      Sample sample;
      sample.format = "rank-times";
      sample.operation = operation;
      sample.variant = alike ? time.words : label;
      sample.rank = time.rank;
      sample.group = heading_of(document, time.line);
      sample.time_us = time.us;
      sink.add(time.line, std::move(sample));
    }
    sink.recognised("times by rank");
  }
}

}  // namespace shunt::logs
