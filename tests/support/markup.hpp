// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// A strict little reader of markup, for tests of pages and pictures.
#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace shunt::testing {

struct Markup {
  std::vector<std::string> tags;  ///< In order of their opening.
  std::string text;               ///< What stands between tags, references kept.
  std::string error;  ///< Empty: every tag is closed in order, every `&` and `<` is escaped.

  [[nodiscard]] auto count(std::string_view tag) const {
    return std::count(tags.begin(), tags.end(), tag);
  }
};

/// True for `&amp;` and its like and `&#39;` at `at`.
inline bool is_reference(std::string_view markup, std::size_t at) {
  static const std::set<std::string_view> known{"amp", "lt", "gt", "quot", "#39"};
  const std::size_t end = markup.find(';', at);
  return end != std::string_view::npos && known.count(markup.substr(at + 1, end - at - 1)) == 1;
}

/// Reads `<name a="v" …>`, its content up to the next `<`; gives the name, or an error.
inline std::string check_attributes(std::string_view inside) {
  bool quoted = false;
  for (const char c : inside) {
    if (c == '"') quoted = !quoted;
    if (c == '<') return "'<' in a tag";
    if (c == '\'' && !quoted) return "a single-quoted attribute";
  }
  return quoted ? "an attribute without end" : "";
}

inline Markup read_markup(std::string_view markup) {
  Markup out;
  std::vector<std::string> open;
  std::size_t at = 0;
  const auto fail = [&](const std::string& why) {
    out.error = why + " at byte " + std::to_string(at) + ": " + std::string(markup.substr(at, 60));
    return out;
  };
  while (at < markup.size()) {
    if (markup[at] == '&' && !is_reference(markup, at)) return fail("a bare '&'");
    if (markup[at] != '<') {
      out.text += markup[at++];
      continue;
    }
    const std::size_t end = markup.find('>', at);
    if (end == std::string_view::npos) return fail("a tag without end");
    std::string_view inside = markup.substr(at + 1, end - at - 1);
    if (const std::string why = check_attributes(inside); !why.empty()) return fail(why);
    if (inside.front() == '!' || inside.front() == '?') {
      at = end + 1;
      continue;
    }
    const bool closes = inside.front() == '/';
    if (closes) inside.remove_prefix(1);
    const std::string name(inside.substr(0, inside.find_first_of(" \n/")));
    if (closes) {
      if (open.empty() || open.back() != name) return fail("</" + name + "> closes nothing");
      open.pop_back();
    } else {
      out.tags.push_back(name);
      if (inside.back() != '/') open.push_back(name);
    }
    at = end + 1;
    // The style sheet has its own syntax, and no '<'.
    if (name == "style" && !closes) at = std::min(markup.find('<', at), markup.size());
  }
  if (!open.empty()) out.error = "<" + open.back() + "> is never closed";
  return out;
}

}  // namespace shunt::testing
