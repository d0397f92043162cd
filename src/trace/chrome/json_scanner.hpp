// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// A SAX scanner for large JSON in a bounded window. Numbers are handed over as their digits;
// trailing commas, NaN and Infinity pass. A general parser copies every string and number
// character by character to hand it over; this one hands over the window's own bytes, which is
// what the bar in docs/performance.md needs.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "trace/chrome/byte_source.hpp"

namespace shunt::trace {

/// Takes the scanner's calls; views are valid during the call only. Returning false from a start
/// ends the scan.
class JsonHandler {
 public:
  virtual ~JsonHandler() = default;
  virtual bool start_object() = 0;
  virtual void end_object() = 0;
  virtual bool start_array() = 0;
  virtual void end_array() = 0;
  virtual void key(std::string_view text) = 0;
  virtual void string(std::string_view text) = 0;
  virtual void number(std::string_view digits) = 0;
  virtual void literal() = 0;  ///< true, false, null, NaN, Infinity
};

class JsonScanner {
 public:
  explicit JsonScanner(ByteSource& source);

  /// Scans one value. On false, problem() and offset() say what stopped it and where.
  template <typename Handler>
  [[nodiscard]] bool scan(Handler& handler);

  [[nodiscard]] const char* problem() const { return problem_; }
  /// Bytes consumed so far.
  [[nodiscard]] std::uint64_t offset() const {
    return passed_ + static_cast<std::uint64_t>(at_ - window_.data());
  }

 private:
  static constexpr std::size_t kWindow = std::size_t{256} << 10;
  static constexpr std::size_t kMostWindow = std::size_t{16} << 20;
  static constexpr std::size_t kMaxDepth = 64;
  enum class Expect { kValue, kKey, kAfter };

  /// Reads on, keeping the bytes from `keep` (or from at_), which moves with them. False at the
  /// end.
  bool refill(const char*& keep);
  /// The next byte that is not blank, not consumed; '\0' at the end.
  char next() {
    // Compact JSON has no blanks: the first look decides.
    if (at_ != end_ && static_cast<unsigned char>(*at_) > ' ') return *at_;
    return skip_blanks();
  }
  char skip_blanks();
  /// The string whose opening quote was consumed; false if it does not end.
  bool take_string(std::string_view& text) {
    const char* begin = at_;
    at_ = find_quote(at_, end_);
    if (at_ == end_ || *at_ == '\\') return take_rest_of_string(begin, text);
    text = std::string_view(begin, static_cast<std::size_t>(at_ - begin));
    ++at_;
    return true;
  }
  /// The first quote or backslash in [at, end), or end.
  static const char* find_quote(const char* at, const char* end);
  bool take_rest_of_string(const char* begin, std::string_view& text);
  bool take_number(std::string_view& digits);
  bool take_literal();
  void unescape(std::string_view raw);
  bool fail(const char* problem) {
    problem_ = problem;
    return false;
  }

  ByteSource& source_;
  std::vector<char> window_;
  const char* at_ = nullptr;
  const char* end_ = nullptr;
  std::uint64_t passed_ = 0;
  std::string scratch_;
  const char* problem_ = "";
};

inline const char* JsonScanner::find_quote(const char* at, const char* end) {
  static_assert(std::endian::native == std::endian::little);
  constexpr std::uint64_t kOnes = 0x0101010101010101U;
  // Eight bytes at a time: a byte of x is zero iff the high bit of (x − 1) & ~x is set there, below
  // the first such byte exactly.
  for (; end - at >= 8; at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, sizeof word);
    const std::uint64_t quote = word ^ (kOnes * '"');
    const std::uint64_t slash = word ^ (kOnes * '\\');
    const std::uint64_t hit =
        (((quote - kOnes) & ~quote) | ((slash - kOnes) & ~slash)) & (kOnes << 7);
    if (hit != 0) return at + (std::countr_zero(hit) >> 3);
  }
  while (at != end && *at != '"' && *at != '\\') ++at;
  return at;
}

template <typename Handler>
bool JsonScanner::scan(Handler& handler) {
  char open[kMaxDepth];
  std::size_t depth = 0;
  Expect expect = Expect::kValue;
  std::string_view text;
  while (true) {
    const char c = next();
    if (c == '\0') return fail("the document ends early");
    if (expect == Expect::kAfter && c == ',') {
      ++at_;
      expect = open[depth - 1] == '{' ? Expect::kKey : Expect::kValue;
      continue;
    }
    if (depth > 0 && ((c == '}' && open[depth - 1] == '{' && expect != Expect::kValue) ||
                      (c == ']' && open[depth - 1] == '['))) {
      ++at_;
      --depth;
      c == '}' ? handler.end_object() : handler.end_array();
      if (depth == 0) return true;
      expect = Expect::kAfter;
      continue;
    }
    if (expect == Expect::kAfter) return fail("a comma or a closing bracket is missing");
    if (expect == Expect::kKey) {
      if (c != '"') return fail("a member's name is missing");
      ++at_;
      if (!take_string(text)) return fail("a string does not end");
      handler.key(text);
      if (next() != ':') return fail("the colon behind a name is missing");
      ++at_;
      expect = Expect::kValue;
      continue;
    }
    expect = Expect::kAfter;
    if (c == '{' || c == '[') {
      ++at_;
      if (depth == kMaxDepth) return fail("nested too deeply");
      open[depth++] = c;
      if (!(c == '{' ? handler.start_object() : handler.start_array())) return fail("stopped");
      expect = c == '{' ? Expect::kKey : Expect::kValue;
      continue;
    }
    if (c == '"') {
      ++at_;
      if (!take_string(text)) return fail("a string does not end");
      handler.string(text);
    } else if (c == '-' || (c >= '0' && c <= '9')) {
      if (!take_number(text)) return fail("a number is cut");
      handler.number(text);
    } else if (take_literal()) {
      handler.literal();
    } else {
      return fail("an invalid value");
    }
    if (depth == 0) return true;
  }
}

}  // namespace shunt::trace
