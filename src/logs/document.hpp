// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// A pasted text, cleaned line by line, original line numbers kept. in: any bytes → out: Document.
// Called from: readers, cli. Never fails on content: what cannot be decoded is replaced and noted.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shunt/result.hpp"
#include "trace/chrome/byte_source.hpp"

namespace shunt::logs {

/// One record's worth of text. A line of the file gives several where records were glued together
/// or a progress bar redrew itself (all with the same number).
struct Line {
  std::string text;         ///< For matching: prefixes, quotes, colours, emphasis removed, trimmed.
  std::string body;         ///< For column layouts: as text, but spacing and emphasis kept.
  std::size_t number = 0;   ///< Line of the file, from 1.
  std::optional<int> rank;  ///< From a launcher's prefix or `[rank 3]`.
  bool last = false;        ///< The file's last line, and it has no line end: it may be cut.
  bool fence = false;       ///< A markdown fence or rule: carries no content.
  int heading = -1;         ///< Index of the nearest heading at or above it; −1: none.
};

struct Document {
  std::string name;  ///< As the user gave it; "-" is standard input.
  std::vector<Line> lines;
  std::vector<std::string> notes;  ///< "UTF-16 decoded", "3 undecodable bytes replaced".
};

/// Decodes (UTF-8, UTF-16 by BOM or by its zero bytes), splits (LF, CRLF, CR) and cleans.
[[nodiscard]] Document make_document(std::string name, std::string_view bytes);

/// The heading above line `index` without its marks ("Node 1", "32 blocks"); empty if none.
[[nodiscard]] std::string heading_of(const Document& document, std::size_t index);

/// Reads `source`, at most `max_bytes`; a longer one is noted and cut, and so is a damaged one.
[[nodiscard]] Result<Document> load_document(trace::ByteSource& source,
                                             const std::string& name,
                                             std::size_t max_bytes = std::size_t{256} << 20);
/// The file at `path`, plain, gzip or zstd ("-": standard input).
[[nodiscard]] Result<Document> load_document(const std::string& path);

}  // namespace shunt::logs
