// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "logs/counters/shapes.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "logs/text.hpp"
#include "logs/words.hpp"

namespace shunt::logs {
namespace {

bool is_name(std::string_view word) {
  return word.size() >= 3 && word.size() <= 64 && is_alpha(word.front()) &&
         std::all_of(word.begin(), word.end(), [](char c) {
           return is_alpha(c) || is_digit(c) || c == '_' || c == '-' || c == '.';
         });
}

std::optional<std::uint64_t> number(std::string_view word) {
  if (word.substr(0, 2) == "0x") return parse_hex(word);
  return parse_count(word);
}

/// Cuts "…/mlx5_0/ports/1/counters/" off the front of `name` and says "mlx5_0/1".
std::string take_path(std::string_view& name) {
  const std::size_t slash = name.rfind('/');
  if (slash == std::string_view::npos) return {};
  std::string device = device_hint(name.substr(0, slash + 1));
  name = name.substr(slash + 1);
  return device;
}

/// Dots that perfquery fills a column with.
std::string_view without_fill(std::string_view text) {
  while (!text.empty() && (text.front() == '.' || is_space(text.front()))) text.remove_prefix(1);
  return text;
}

}  // namespace

std::string device_hint(std::string_view line) {
  if (const std::size_t lid = find_ci(line, "counters: Lid "); lid != std::string_view::npos) {
    const auto words = split_words(line.substr(lid + 10), "()");
    if (words.size() >= 4 && words[2] == "port") {
      return fmt::format("lid {} port {}", words[1], words[3]);
    }
  }
  if (const std::size_t at = line.find("ethtool -S "); at != std::string_view::npos) {
    const auto words = split_words(line.substr(at + 11), "`|;'\"");
    return words.empty() ? std::string() : std::string(words.front());
  }
  const std::size_t ports = line.find("/ports/");
  if (ports != std::string_view::npos) {
    const std::size_t begin = line.substr(0, ports).find_last_of("/ \t'\"=");
    const std::size_t from = begin == std::string_view::npos ? 0 : begin + 1;
    std::size_t end = ports + 7;
    while (end < line.size() && is_digit(line[end])) ++end;
    const std::string_view device = line.substr(from, ports - from);
    const std::string_view port = line.substr(ports + 7, end - ports - 7);
    if (is_name(device) && !port.empty()) return fmt::format("{}/{}", device, port);
  }
  if (line.substr(0, 5) == "link ") {
    const auto words = split_words(line);
    if (words.size() >= 2 && words[1].find('/') != std::string_view::npos) {
      return std::string(words[1]);
    }
  }
  return {};
}

std::string_view tool_hint(std::string_view line) {
  struct Hint {
    std::string_view text;
    std::string_view tool;
  };
  static constexpr std::array<Hint, 11> kHints = {{
      {"ethtool -S", "ethtool -S"},
      {"NIC statistics", "ethtool -S"},
      {"mlnx_perf", "mlnx_perf"},
      {"perfquery", "perfquery"},
      {"Port counters:", "perfquery"},
      {"Port extended counters:", "perfquery"},
      {"rdma statistic", "rdma statistic"},
      {"rdma -p statistic", "rdma statistic"},
      {"hw_counters", "sysfs"},
      {"/counters", "sysfs"},
      {"ibqueryerrors", "ibqueryerrors"},
  }};
  for (const Hint& hint : kHints) {
    if (contains(line, hint.text)) return hint.tool;
  }
  return {};
}

std::optional<NamedValue> named_value(std::string_view line) {
  line = trim(line);
  std::size_t end = line.find_first_of(":= \t");
  // A colon inside a path ("0000:17:00.0/…") is not the separator: the name starts after the slash.
  if (const std::size_t slash = line.rfind('/');
      slash != std::string_view::npos && line[0] != '[' &&
      (line[0] == '/' || line[0] == '.' || contains(line, "counters/"))) {
    end = line.find_first_of(":= \t", slash);
  }
  if (end == std::string_view::npos) return std::nullopt;
  std::string_view name = line.substr(0, end);
  NamedValue found;
  found.device = take_path(name);
  if (!is_name(name)) return std::nullopt;
  found.name = std::string(name);
  std::string_view rest = line.substr(end);
  while (!rest.empty() && (rest.front() == ':' || rest.front() == '=' || is_space(rest.front()))) {
    rest.remove_prefix(1);
  }
  const auto words = split_words(without_fill(rest), "[]");
  if (words.empty()) return std::nullopt;
  const auto value = number(words[0]);
  if (!value) return std::nullopt;
  found.value = *value;
  if (words.size() == 1) return found;
  if (words[1] == "Bps" || words[1] == "pps" || words[1] == "/s") {
    found.rate = true;
    return found;
  }
  // "name before after [difference]"; anything else behind the number is prose.
  if (words[1] == "->" && words.size() == 3) {
    found.second = number(words[2]);
    return found.second ? std::optional(found) : std::nullopt;
  }
  found.second = number(words[1]);
  if (!found.second || *found.second < found.value || words.size() > 3) return std::nullopt;
  if (words.size() == 3) {
    std::string_view last = words[2];
    if (last.front() == '+') last.remove_prefix(1);
    if (number(last) != *found.second - found.value) return std::nullopt;
  }
  return found;
}

std::vector<NamedValue> rdma_statistic_line(std::string_view line) {
  const auto words = split_words(line);
  if (words.size() < 4 || words[0] != "link" || words[1].find('/') == std::string_view::npos) {
    return {};
  }
  std::vector<NamedValue> found;
  for (std::size_t at = 2; at + 1 < words.size(); at += 2) {
    const auto value = number(words[at + 1]);
    if (!is_name(words[at]) || !value) return {};
    found.push_back({std::string(words[at]), *value, std::nullopt, false, std::string(words[1])});
  }
  return found;
}

std::vector<NamedValue> bracketed_values(std::string_view line) {
  std::string device;
  const std::size_t port = line.find(" port ");
  if (port != std::string_view::npos) {
    const std::size_t colon = line.find(':', port);
    const auto words = split_words(line.substr(0, port));
    if (colon == std::string_view::npos || words.empty()) return {};
    device = fmt::format("{} port {}", words.back(), trim(line.substr(port + 6, colon - port - 6)));
  }
  std::vector<NamedValue> found;
  for (std::size_t open = line.find('['); open != std::string_view::npos;
       open = line.find('[', open + 1)) {
    const std::size_t close = line.find(']', open);
    if (close == std::string_view::npos) break;
    const auto words = split_words(line.substr(open + 1, close - open - 1));
    if (words.size() < 3 || words[1] != "==" || !is_name(words[0])) continue;
    if (const auto value = number(words[2])) {
      found.push_back({std::string(words[0]), *value, std::nullopt, false, device});
    }
  }
  return found;
}

std::optional<NamedValue> nvlink_value(std::string_view line) {
  line = trim(line);
  if (line.substr(0, 5) != "Link ") return std::nullopt;
  const std::size_t colon = line.find(':');
  const std::size_t second = colon == std::string_view::npos ? colon : line.find(':', colon + 1);
  if (second == std::string_view::npos) return std::nullopt;
  const auto words = split_words(line.substr(second + 1));
  const auto link = parse_count(trim(line.substr(5, colon - 5)));
  const auto value = words.empty() ? std::nullopt : parse_count(words[0]);
  if (!link || !value || (words.size() >= 2 && words[1] != "KiB")) return std::nullopt;
  return NamedValue{std::string(trim(line.substr(colon + 1, second - colon - 1))),
                    *value,
                    std::nullopt,
                    false,
                    fmt::format("link {}", *link)};
}

}  // namespace shunt::logs
