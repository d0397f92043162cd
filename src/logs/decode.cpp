// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "logs/decode.hpp"

#include <cstddef>
#include <cstdint>

#include <fmt/format.h>

#include "logs/text.hpp"

namespace shunt::logs {
namespace {

void append_utf8(std::string& out, std::uint32_t code) {
  if (code < 0x80) {
    out.push_back(static_cast<char>(code));
  } else if (code < 0x800) {
    out.push_back(static_cast<char>(0xC0 | (code >> 6)));
    out.push_back(static_cast<char>(0x80 | (code & 0x3F)));
  } else if (code < 0x10000) {
    out.push_back(static_cast<char>(0xE0 | (code >> 12)));
    out.push_back(static_cast<char>(0x80 | ((code >> 6) & 0x3F)));
    out.push_back(static_cast<char>(0x80 | (code & 0x3F)));
  } else {
    out.push_back(static_cast<char>(0xF0 | (code >> 18)));
    out.push_back(static_cast<char>(0x80 | ((code >> 12) & 0x3F)));
    out.push_back(static_cast<char>(0x80 | ((code >> 6) & 0x3F)));
    out.push_back(static_cast<char>(0x80 | (code & 0x3F)));
  }
}

std::string decode_utf16(std::string_view bytes, bool big_endian) {
  std::string out;
  const auto unit = [&](std::size_t at) {
    const auto a = static_cast<std::uint8_t>(bytes[at]);
    const auto b = static_cast<std::uint8_t>(bytes[at + 1]);
    return static_cast<std::uint32_t>(big_endian ? a << 8 | b : b << 8 | a);
  };
  for (std::size_t i = 0; i + 1 < bytes.size(); i += 2) {
    std::uint32_t code = unit(i);
    if (code >= 0xD800 && code < 0xDC00 && i + 3 < bytes.size()) {
      const std::uint32_t low = unit(i + 2);
      if (low >= 0xDC00 && low < 0xE000) {
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
        i += 2;
      }
    }
    if (code >= 0xD800 && code < 0xE000) code = ' ';
    append_utf8(out, code == 0 ? ' ' : code);
  }
  return out;
}

/// Length of the valid UTF-8 sequence at `at`, 0 if there is none.
std::size_t sequence_length(std::string_view bytes, std::size_t at) {
  const auto lead = static_cast<std::uint8_t>(bytes[at]);
  std::size_t length = 0;
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead < 0xE0) length = 2;
  if (lead >= 0xE0 && lead < 0xF0) length = 3;
  if (lead >= 0xF0 && lead < 0xF5) length = 4;
  if (length == 0 || at + length > bytes.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((static_cast<std::uint8_t>(bytes[at + i]) & 0xC0) != 0x80) return 0;
  }
  return length;
}

/// UTF-16 without a BOM: nearly every second byte of the start is zero.
int utf16_by_zeros(std::string_view bytes) {
  const std::size_t n = std::min<std::size_t>(bytes.size(), 512) & ~std::size_t{1};
  std::size_t even = 0;
  std::size_t odd = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (bytes[i] == '\0') ++(i % 2 == 0 ? even : odd);
  }
  if (n < 16) return 0;
  if (odd * 10 > n / 2 * 8 && even * 10 < n / 2) return 1;
  if (even * 10 > n / 2 * 8 && odd * 10 < n / 2) return 2;
  return 0;
}

/// One past an escape that starts at `at` (an ESC or the one-byte CSI is at `at`).
std::size_t escape_end(std::string_view text, std::size_t at) {
  std::size_t i = at + 1;
  if (i >= text.size()) return i;
  if (text[i] == '[') {
    for (++i; i < text.size(); ++i) {
      const char c = text[i];
      if (c >= '@' && c <= '~') return i + 1;
      if (c == '\n' || static_cast<std::uint8_t>(c) < 0x20) return i;
    }
    return i;
  }
  if (text[i] == ']') {
    for (++i; i < text.size() && text[i] != '\n'; ++i) {
      if (text[i] == '\a') return i + 1;
      if (text[i] == '\x1b') return std::min(i + 2, text.size());
    }
    return i;
  }
  return i + (text[i] == '(' || text[i] == ')' ? 2 : 1);
}

/// End of a colour code that lost its ESC ("[0m", "[1;32m"), or `at` if it is none.
std::size_t bare_colour_end(std::string_view text, std::size_t at) {
  std::size_t i = at + 1;
  const std::size_t begin = i;
  while (i < text.size() && (is_digit(text[i]) || text[i] == ';') && i - begin < 12) ++i;
  if (i == begin || i >= text.size() || text[i] != 'm') return at;
  return i + 1;
}

}  // namespace

std::string decode_text(std::string_view bytes, std::vector<std::string>& notes) {
  if (bytes.substr(0, 2) == "\xFF\xFE" || bytes.substr(0, 2) == "\xFE\xFF") {
    notes.emplace_back("UTF-16 decoded");
    return decode_utf16(bytes.substr(2), bytes[0] == '\xFE');
  }
  if (const int kind = utf16_by_zeros(bytes); kind != 0) {
    notes.emplace_back("UTF-16 without byte-order mark decoded");
    return decode_utf16(bytes, kind == 2);
  }
  if (bytes.substr(0, 3) == "\xEF\xBB\xBF") bytes.remove_prefix(3);
  std::string out;
  out.reserve(bytes.size());
  std::size_t replaced = 0;
  for (std::size_t i = 0; i < bytes.size();) {
    const std::size_t length = sequence_length(bytes, i);
    if (length == 0 || bytes[i] == '\0') {
      out.push_back(' ');
      ++replaced;
      ++i;
      continue;
    }
    // A no-break space is a space to every reader.
    if (bytes.substr(i, 2) == "\xC2\xA0") {
      out.push_back(' ');
    } else if (bytes.substr(i, 3) != "\xE2\x80\x8B" && bytes.substr(i, 3) != "\xEF\xBB\xBF") {
      out.append(bytes.substr(i, length));
    }
    i += length;
  }
  if (replaced > 0) notes.push_back(fmt::format("{} undecodable bytes replaced", replaced));
  return out;
}

std::string strip_escapes(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] == '\x1b') {
      i = escape_end(text, i);
    } else if (text[i] == '[' && bare_colour_end(text, i) != i) {
      i = bare_colour_end(text, i);
    } else if (text[i] == '\b') {
      if (!out.empty() && static_cast<std::uint8_t>(out.back()) < 0x80) out.pop_back();
      ++i;
    } else {
      out.push_back(text[i++]);
    }
  }
  return out;
}

}  // namespace shunt::logs
