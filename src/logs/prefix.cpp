// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "logs/prefix.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "logs/text.hpp"

namespace shunt::logs {
namespace {

constexpr std::size_t kNone = std::string_view::npos;

std::size_t digits_end(std::string_view text, std::size_t at) {
  while (at < text.size() && is_digit(text[at])) ++at;
  return at;
}

std::optional<int> small_int(std::string_view digits) {
  if (digits.empty() || digits.size() > 6) return std::nullopt;
  int value = 0;
  for (const char c : digits) {
    if (!is_digit(c)) return std::nullopt;
    value = value * 10 + (c - '0');
  }
  return value;
}

struct Match {
  std::size_t end = 0;  ///< 0: no match.
  std::optional<int> rank;
};

/// "[1,3]<stdout>:" and "[1,3]:", at `at`.
Match open_mpi_tag(std::string_view text, std::size_t at) {
  if (at >= text.size() || text[at] != '[') return {};
  const std::size_t comma = digits_end(text, at + 1);
  if (comma == at + 1 || comma >= text.size() || text[comma] != ',') return {};
  const std::size_t close = digits_end(text, comma + 1);
  if (close == comma + 1 || close >= text.size() || text[close] != ']') return {};
  std::size_t end = close + 1;
  const bool stream = text.substr(end, 8) == "<stdout>" || text.substr(end, 8) == "<stderr>" ||
                      text.substr(end, 8) == "<stddiag";
  if (stream) end = text.find('>', end) + 1;
  if (end < text.size() && text[end] == ':') {
    ++end;
  } else if (!stream) {
    return {};
  }
  return {end, small_int(text.substr(comma + 1, close - comma - 1))};
}

/// "[rank 3]", "[rank3]:", "[Rank 3]:", "[default3]:", "[trainer0|3]:", "[mpi_rank_3]", at `at`.
Match bracket_rank(std::string_view text, std::size_t at) {
  if (at >= text.size() || text[at] != '[') return {};
  static constexpr std::array<std::string_view, 5> kNames{
      "rank", "default", "mpi_rank_", "trainer", "pe"};
  const std::string_view rest = text.substr(at + 1);
  for (const std::string_view name : kNames) {
    if (!starts_with_ci(rest, name)) continue;
    std::size_t i = at + 1 + name.size();
    while (i < text.size() && (text[i] == ' ' || text[i] == ':' || text[i] == '_')) ++i;
    std::size_t end = digits_end(text, i);
    if (end == i) continue;
    if (end < text.size() && text[end] == '|') {
      i = end + 1;
      end = digits_end(text, i);
    }
    if (end >= text.size() || text[end] != ']' || end == i) continue;
    const auto rank = small_int(text.substr(i, end - i));
    ++end;
    if (end < text.size() && text[end] == ':') ++end;
    return {end, rank};
  }
  return {};
}

/// "12: " of srun --label (also padded), "[0] " of other launchers; only at the line's start.
Match label(std::string_view text) {
  std::size_t i = 0;
  while (i < text.size() && text[i] == ' ') ++i;
  const bool bracket = i < text.size() && text[i] == '[';
  const std::size_t begin = bracket ? i + 1 : i;
  const std::size_t end = digits_end(text, begin);
  if (end == begin || end - begin > 5 || end >= text.size()) return {};
  if (bracket) {
    if (text[end] != ']' || end + 1 >= text.size() || !is_space(text[end + 1])) return {};
    return {end + 1, small_int(text.substr(begin, end - begin))};
  }
  if (text[end] != ':') return {};
  if (end + 1 < text.size() && !is_space(text[end + 1]) && text[end + 1] != '#' &&
      text[end + 1] != '[') {
    return {};
  }
  return {end + 1, small_int(text.substr(begin, end - begin))};
}

/// An ISO time stamp, bare or in brackets, with what loggers add ("INFO", "- ").
std::size_t timestamp_end(std::string_view text) {
  std::size_t i = 0;
  while (i < text.size() && (is_space(text[i]) || text[i] == '[')) ++i;
  const auto digits = [&](std::size_t at, std::size_t n) { return digits_end(text, at) >= at + n; };
  if (!digits(i, 4) || i + 19 > text.size()) return 0;
  const char dash = text[i + 4];
  if ((dash != '-' && dash != '/') || text[i + 7] != dash || !digits(i + 5, 2) ||
      !digits(i + 8, 2) || (text[i + 10] != ' ' && text[i + 10] != 'T') || !digits(i + 11, 2) ||
      text[i + 13] != ':' || text[i + 16] != ':') {
    return 0;
  }
  i += 19;
  while (i < text.size() &&
         (is_digit(text[i]) || text[i] == '.' || text[i] == ',' || text[i] == 'Z' ||
          text[i] == '+' || text[i] == ']' || text[i] == ':')) {
    ++i;
  }
  for (const std::string_view word : {" INFO", " WARNING", " WARN", " ERROR", " DEBUG", " -"}) {
    if (text.substr(i, word.size()) == word) i += word.size();
  }
  while (i < text.size() && (text[i] == ':' || text[i] == '-') && i + 1 < text.size() &&
         is_space(text[i + 1])) {
    ++i;
  }
  return i;
}

/// Leading mail or issue quotes: "> > ", also "| " of diff views is left alone (tables use it).
std::size_t quote_end(std::string_view text) {
  std::size_t end = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '>') {
      end = i + 1;
    } else if (!is_space(text[i])) {
      break;
    }
  }
  // V2 prints lines that start with " > Ranks:"; a lone quote mark keeps its line's spacing.
  return end;
}

/// "(WorkerDict pid=1234, ip=…) " of Ray.
std::size_t actor_end(std::string_view text) {
  if (text.empty() || text[0] != '(') return 0;
  const std::size_t close = text.find(')');
  if (close == kNone || close > 120 || text.substr(0, close).find("pid=") == kNone) return 0;
  return close + 1;
}

/// "node-a: " of pdsh and clush, before something that starts a known record.
std::size_t host_end(std::string_view text) {
  const std::size_t colon = text.find(": ");
  if (colon == kNone || colon == 0 || colon > 64) return 0;
  const std::string_view host = text.substr(0, colon);
  if (!is_alpha(host[0]) || host.find_first_of(" _/=|[]()") != kNone) return 0;
  if (host.find_first_of("0123456789-.") == kNone) return 0;
  if (starts_with_ci(host, "EP") && is_digit(host.back())) return 0;  // "EP16: 287 us"
  const std::string_view rest = trim(text.substr(colon + 2));
  return !rest.empty() && (rest[0] == '[' || rest[0] == '#' || is_digit(rest[0])) ? colon + 2 : 0;
}

/// "[pod/worker-0/main] " of kubectl logs --prefix.
std::size_t pod_end(std::string_view text) {
  if (text.substr(0, 5) != "[pod/") return 0;
  const std::size_t close = text.find("] ");
  return close == kNone || close > 160 ? 0 : close + 2;
}

/// "INFO 03-04 05:06:07 [engine.py:12] ": a logger's level, month and day, time, place.
std::size_t level_end(std::string_view text) {
  for (const std::string_view level : {"INFO ", "WARNING ", "DEBUG ", "ERROR "}) {
    if (text.substr(0, level.size()) != level) continue;
    const std::size_t day = level.size();
    if (text.size() < day + 9 || digits_end(text, day) != day + 2 ||
        text.substr(day + 2, 1) != "-" || digits_end(text, day + 3) != day + 5 ||
        text.substr(day + 8, 1) != ":") {
      return 0;
    }
    const std::size_t open = text.find(" [", day + 8);
    const std::size_t close = open == kNone ? kNone : text.find("] ", open);
    return close == kNone || open > day + 24 || close > open + 80 ? 0 : close + 2;
  }
  return 0;
}

std::string_view strip_prefixes(std::string_view text, std::optional<int>& rank) {
  for (int round = 0; round < 8; ++round) {
    std::size_t end = quote_end(text);
    std::optional<int> seen;
    // Emphasis around a whole line, its launcher prefix included: "**0: dispatch …**".
    const std::size_t mark = text.find_first_not_of("*_` \t");
    if (end == 0 && mark != kNone && mark > 0 && text.find_first_of("*_`") < mark) {
      Match inner = open_mpi_tag(text, mark);
      if (inner.end == 0) inner = bracket_rank(text, mark);
      if (inner.end == 0) {
        inner = label(text.substr(mark));
        if (inner.end != 0) inner.end += mark;
      }
      if (inner.end != 0) {
        end = inner.end;
        seen = inner.rank;
      }
    }
    if (end == 0) end = timestamp_end(text);
    if (end == 0) end = actor_end(text);
    if (end == 0) end = pod_end(text);
    if (end == 0) end = level_end(text);
    if (end == 0) {
      std::size_t at = 0;
      while (at < text.size() && is_space(text[at])) ++at;
      Match match = open_mpi_tag(text, at);
      if (match.end == 0) match = bracket_rank(text, at);
      if (match.end == 0) match = label(text);
      end = match.end;
      seen = match.rank;
    }
    if (end == 0) {
      end = host_end(text);
      // "rank3: " in front of figures is a rank's name, not a host's.
      if (end > 6 && starts_with_ci(text, "rank")) seen = small_int(text.substr(4, end - 6));
    }
    if (end == 0) break;
    if (seen) rank = seen;
    text.remove_prefix(end);
    if (!text.empty() && text[0] == ' ') text.remove_prefix(1);
  }
  return text;
}

/// Where a second record starts inside `text`: a launcher tag or a bracketed record head that has
/// something before it. kNone if there is none.
std::size_t next_record(std::string_view text, std::size_t from) {
  static constexpr std::array<std::string_view, 4> kHeads{
      "[tuning]", "[testing]", "[config]", "[layout]"};
  for (std::size_t i = from; i < text.size(); ++i) {
    if (text[i] != '[') continue;
    if (open_mpi_tag(text, i).end != 0 || bracket_rank(text, i).end != 0) return i;
    for (const std::string_view head : kHeads) {
      if (text.substr(i, head.size()) == head) return i;
    }
  }
  return kNone;
}

/// Interleaved tags of one launcher ("… -1[0]   1626.5 …"): the same tag as the line's own.
std::string drop_inner_tags(std::string_view text, std::string_view tag) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    if (!tag.empty() && text.substr(i, tag.size()) == tag) {
      out.push_back(' ');
      i += tag.size();
    } else {
      out.push_back(text[i++]);
    }
  }
  return out;
}

}  // namespace

std::size_t host_prefix_end(std::string_view text) {
  for (const std::string_view mark : {": ", " | "}) {
    std::size_t at = text.find(mark);
    // A blank line of that host: nothing behind the mark, its space cut off or not.
    if (at == kNone && !text.empty() && text.back() == mark[mark.size() - 2]) at = text.size() - 1;
    if (at == kNone || at == 0 || at > 64) continue;
    std::string_view host = text.substr(0, at);
    while (!host.empty() && is_space(host.back())) host.remove_suffix(1);
    if (host.empty() || !is_alpha(host[0]) || host.find_first_of(" =/|[]()") != kNone ||
        host.find_first_of("-.") == kNone || host.find_first_of("0123456789") == kNone) {
      continue;
    }
    return std::min(at + mark.size(), text.size());
  }
  return 0;
}

std::vector<Prefixed> split_records(std::string_view text) {
  std::vector<Prefixed> out;
  std::optional<int> rank;
  std::string_view rest = strip_prefixes(text, rank);
  // The plain tag "[0]" that this line starts with, to be dropped wherever it recurs.
  std::string tag;
  if (const Match match = label(text); match.end != 0) {
    const std::string_view head = trim(text.substr(0, match.end));
    if (!head.empty() && head[0] == '[') tag = std::string(head);
  }
  std::size_t searched = 1;
  while (true) {
    const std::size_t cut = next_record(rest, searched);
    const std::string_view piece = cut == kNone ? rest : rest.substr(0, cut);
    if (cut == kNone || !trim(piece).empty()) {
      out.push_back({tag.empty() ? std::string(piece) : drop_inner_tags(piece, tag), rank});
    }
    if (cut == kNone) return out;
    std::optional<int> next = rank;
    rest = strip_prefixes(rest.substr(cut), next);
    rank = next;
    searched = 1;
  }
}

}  // namespace shunt::logs
