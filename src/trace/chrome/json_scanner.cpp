// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "trace/chrome/json_scanner.hpp"

#include <algorithm>
#include <cstring>

namespace shunt::trace {

JsonScanner::JsonScanner(ByteSource& source) : source_(source), window_(kWindow) {
  at_ = end_ = window_.data();
  const char* keep = at_;
  // A byte order mark is no part of the document.
  while (end_ - at_ < 3 && refill(keep)) {
  }
  if (end_ - at_ >= 3 && std::memcmp(at_, "\xef\xbb\xbf", 3) == 0) at_ += 3;
}

bool JsonScanner::refill(const char*& keep) {
  const auto kept = static_cast<std::size_t>(end_ - keep);
  const auto ahead = static_cast<std::size_t>(at_ - keep);
  const auto dropped = static_cast<std::size_t>(keep - window_.data());
  if (kept == window_.size() && window_.size() >= kMostWindow) return false;
  if (dropped > 0) std::memmove(window_.data(), keep, kept);
  if (kept == window_.size()) window_.resize(window_.size() * 2);
  passed_ += dropped;
  const std::size_t got = source_.read(window_.data() + kept, window_.size() - kept);
  keep = window_.data();
  at_ = keep + ahead;
  end_ = keep + kept + got;
  return got > 0;
}

char JsonScanner::skip_blanks() {
  while (true) {
    while (at_ != end_) {
      const char c = *at_;
      if (c != ' ' && c != '\n' && c != '\r' && c != '\t') return c;
      ++at_;
    }
    const char* keep = at_;
    if (!refill(keep)) return '\0';
  }
}

bool JsonScanner::take_rest_of_string(const char* begin, std::string_view& text) {
  bool escaped = false;
  while (true) {
    at_ = find_quote(at_, end_);
    if (at_ != end_ && *at_ == '"') break;
    // A backslash takes the next byte with it, which may stand in the next window.
    while (end_ - at_ < 2) {
      if (!refill(begin)) return false;
    }
    if (*at_ == '\\') {
      escaped = true;
      at_ += 2;
    }
  }
  text = std::string_view(begin, static_cast<std::size_t>(at_ - begin));
  ++at_;
  if (escaped) {
    unescape(text);
    text = scratch_;
  }
  return true;
}

void JsonScanner::unescape(std::string_view raw) {
  scratch_.clear();
  for (std::size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != '\\' || i + 1 == raw.size()) {
      scratch_.push_back(raw[i]);
      continue;
    }
    const char c = raw[++i];
    switch (c) {
      case 'n':
        scratch_.push_back('\n');
        break;
      case 't':
        scratch_.push_back('\t');
        break;
      case 'r':
        scratch_.push_back('\r');
        break;
      case 'u':
        // Names are matched by their ASCII parts; one mark stands for any other character.
        scratch_.push_back('?');
        i = std::min(i + 4, raw.size() - 1);
        break;
      default:
        scratch_.push_back(c);
    }
  }
}

bool JsonScanner::take_number(std::string_view& digits) {
  const char* begin = at_;
  const auto belongs = [](char c) {
    return (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '+' || c == 'e' || c == 'E';
  };
  while (true) {
    while (at_ != end_ && belongs(*at_)) ++at_;
    if (at_ != end_) break;
    // At the very end of the input the number may lack digits.
    if (!refill(begin)) return false;
  }
  digits = std::string_view(begin, static_cast<std::size_t>(at_ - begin));
  return true;
}

bool JsonScanner::take_literal() {
  const char* begin = at_;
  while (true) {
    while (at_ != end_ && ((*at_ >= 'a' && *at_ <= 'z') || (*at_ >= 'A' && *at_ <= 'Z'))) ++at_;
    if (at_ != end_ || at_ - begin > 16) break;
    if (!refill(begin)) break;
  }
  const std::string_view word(begin, static_cast<std::size_t>(at_ - begin));
  return word == "true" || word == "false" || word == "null" || word == "NaN" || word == "Infinity";
}

}  // namespace shunt::trace
