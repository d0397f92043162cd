// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "logs/document.hpp"

#include <algorithm>
#include <unordered_set>

#include <fmt/format.h>

#include "base/error.hpp"
#include "logs/decode.hpp"
#include "logs/prefix.hpp"
#include "logs/text.hpp"

namespace shunt::logs {
namespace {

/// Emphasis and code marks that markdown puts around values: `**x**`, `_**x**_`, backticks. An
/// underscore inside a word stays.
std::string strip_emphasis(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  const auto mark = [](char c) { return c == '*' || c == '_' || c == '`'; };
  const auto word = [](char c) { return is_alpha(c) || is_digit(c); };
  for (std::size_t i = 0; i < text.size();) {
    if (!mark(text[i])) {
      out.push_back(text[i++]);
      continue;
    }
    std::size_t end = i;
    bool doubled = false;
    bool code = false;
    while (end < text.size() && mark(text[end])) {
      doubled = doubled || (end > i && text[end] == '*' && text[end - 1] == '*');
      code = code || text[end] == '`';
      ++end;
    }
    const bool left = i > 0 && word(text[i - 1]);
    const bool right = end < text.size() && word(text[end]);
    const bool spaced = (i == 0 || is_space(text[i - 1])) &&
                        (end == text.size() || is_space(text[end])) && end - i == 1;
    const bool single_underscore = end - i == 1 && text[i] == '_';
    const bool single_star = end - i == 1 && text[i] == '*' && left && right;
    const bool keep = !doubled && !code &&
                      (spaced || single_star || (single_underscore && (left || right)) ||
                       (end - i > 1 && left && right));
    if (keep) out.append(text.substr(i, end - i));
    i = end;
  }
  return out;
}

bool is_fence(std::string_view text) {
  if (text.substr(0, 3) == "```" || text.substr(0, 3) == "~~~") return true;
  if (text.size() < 3) return false;
  for (const char c : text) {
    if (c != '-' && c != '=' && c != '*' && c != '_' && c != '#' && c != '+' && !is_space(c)) {
      return false;
    }
  }
  return true;
}

/// "# Node 0", "**32 blocks**", "After:", "=== Kernel Benchmark ===": short, no columns, no record.
bool is_heading(const Line& line) {
  const std::string_view body = trim(line.body);
  if (line.text.empty() || line.fence || body.size() > 90) return false;
  if (body.find("  ") != std::string_view::npos || body[0] == '[' || body[0] == '|') return false;
  if (body[0] == '#') {
    const std::size_t after = body.find_first_not_of('#');
    if (after == std::string_view::npos) return false;
    const std::string_view rest = trim(body.substr(after));
    const std::size_t word = rest.find(' ');
    const bool counted = !rest.empty() && is_digit(rest[0]) && word != std::string_view::npos &&
                         word + 1 < rest.size() && is_alpha(rest[word + 1]);
    return !rest.empty() &&
           (counted || is_alpha(rest[0]) || static_cast<unsigned char>(rest[0]) >= 0x80) &&
           rest.find(" : ") == std::string_view::npos;
  }
  if (body.size() > 4 && body.substr(0, 2) == "**" &&
      (body.substr(body.size() - 2) == "**" || body.substr(body.size() - 3) == "**:")) {
    return true;
  }
  if (body.substr(0, 3) == "===" && body.substr(body.size() - 3) == "===") return true;
  return body.back() == ':' && body.size() > 2 && body.find('=') == std::string_view::npos;
}

/// True if the lines of `text` are those of containers or hosts, each with its name in front:
/// nine of ten filled lines, and few names for many lines.
bool lines_name_hosts(std::string_view text) {
  std::size_t filled = 0;
  std::size_t named = 0;
  std::unordered_set<std::string> names;
  for (std::string_view line : split(text, '\n')) {
    line = trim(line);
    if (line.empty()) continue;
    ++filled;
    const std::size_t end = host_prefix_end(line);
    if (end == 0) continue;
    // Nothing behind the name: neither for nor against it.
    if (end == line.size()) {
      --filled;
      continue;
    }
    ++named;
    if (names.size() <= 64) names.emplace(line.substr(0, end));
  }
  return named >= 4 && named * 10 >= filled * 9 && names.size() * 4 <= named;
}

void add_line(
    Document& document, std::string_view raw, std::size_t number, bool last, bool named_hosts) {
  std::string plain = strip_escapes(raw);
  if (named_hosts) plain.erase(0, host_prefix_end(plain));
  for (Prefixed& part : split_records(plain)) {
    Line line;
    line.number = number;
    line.rank = part.rank;
    line.last = last;
    line.body = std::move(part.text);
    line.text = std::string(trim(strip_emphasis(trim(line.body))));
    line.fence = is_fence(trim(line.body));
    const int above = document.lines.empty() ? -1 : document.lines.back().heading;
    line.heading = is_heading(line) ? static_cast<int>(document.lines.size()) : above;
    document.lines.push_back(std::move(line));
  }
}

}  // namespace

Document make_document(std::string name, std::string_view bytes) {
  Document document;
  document.name = std::move(name);
  const std::string text = decode_text(bytes, document.notes);
  const bool named_hosts = lines_name_hosts(text);
  std::size_t number = 1;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const bool end = i == text.size();
    if (!end && text[i] != '\n' && text[i] != '\r') continue;
    const bool bar = !end && text[i] == '\r' && i + 1 < text.size() && text[i + 1] != '\n';
    if (!end || i > begin) {
      // A bare CR redraws the line: each state of it is looked at, empty ones are not.
      const std::string_view raw(text.data() + begin, i - begin);
      if (!bar || !trim(raw).empty()) add_line(document, raw, number, end, named_hosts);
    }
    if (!end && text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n') ++i;
    if (!end && !bar) ++number;
    begin = i + 1;
  }
  return document;
}

std::string heading_of(const Document& document, std::size_t index) {
  const int at = document.lines[index].heading;
  if (at < 0) return {};
  std::string_view text = document.lines[static_cast<std::size_t>(at)].text;
  const auto mark = [](char c) { return c == '#' || c == '=' || c == '*' || c == ':' || c == ' '; };
  while (!text.empty() && mark(text.front())) text.remove_prefix(1);
  while (!text.empty() && mark(text.back())) text.remove_suffix(1);
  return std::string(text);
}

Result<Document> load_document(trace::ByteSource& source,
                               const std::string& name,
                               std::size_t max_bytes) {
  constexpr std::size_t kStep = std::size_t{256} << 10;
  std::string bytes;
  // One byte more than is kept tells a file that is longer.
  while (bytes.size() <= max_bytes) {
    const std::size_t had = bytes.size();
    bytes.resize(had + std::min(kStep, max_bytes + 1 - had));
    const std::size_t got = source.read(bytes.data() + had, bytes.size() - had);
    bytes.resize(had + got);
    if (got == 0) break;
  }
  const std::string failure = source.failure();
  if (bytes.empty() && !failure.empty()) {
    return fail(ErrorCode::kCorrupt, ErrorScope::kOperation, "cannot read '{}': {}", name, failure);
  }
  const bool cut = bytes.size() > max_bytes;
  if (cut) bytes.resize(max_bytes);
  Document document = make_document(name, bytes);
  if (cut) document.notes.push_back(fmt::format("only the first {} bytes were read", max_bytes));
  if (!failure.empty()) {
    document.notes.push_back(fmt::format("only the first {} bytes: {}", bytes.size(), failure));
  }
  return document;
}

Result<Document> load_document(const std::string& path) {
  const auto source = trace::open_bytes(path);
  if (!source) return Unexpected(source.error());
  return load_document(**source, path);
}

}  // namespace shunt::logs
