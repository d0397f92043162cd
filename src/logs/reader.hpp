// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// The frame every reader of foreign text stands in. A reader looks at the lines nobody has claimed,
// adds facts to the sink and claims the lines it understood. in: Document → out: facts in Evidence.
// Adding one: write `void read_x(const Document&, Sink&)`, list it in registry.cpp.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "logs/document.hpp"
#include "logs/evidence.hpp"

namespace shunt::logs {

/// Takes facts of one file and remembers which lines are understood.
class Sink {
 public:
  Sink(const Document& document, int file, Evidence& evidence);

  /// The line carries meaning that a reader took (or knows to be without meaning).
  void claim(std::size_t line);
  /// The line names what stands under it: understood, but other readers may still take from it.
  void claim_title(std::size_t line) { titles_.push_back(line); }
  [[nodiscard]] std::span<const std::size_t> titles() const { return titles_; }
  [[nodiscard]] bool claimed(std::size_t line) const { return claimed_[line]; }
  /// `kind` (for people: "DeepEP internode") was seen in this file.
  void recognised(std::string_view kind);
  [[nodiscard]] Source source(std::size_t line) const;

  /// Each add claims its line and fills in the fact's source.
  void add(std::size_t line, Sample sample);
  void add(std::size_t line, Failure failure);
  void add(std::size_t line, Mapping mapping);
  void add(std::size_t line, TokenCount count);
  /// A sweep's rows carry their own sources: use source() and claim() per row.
  void add(Sweep sweep);
  /// Configuration does not claim: the line may say more. Call claim() where it says nothing else.
  void config(std::size_t line, std::string_view key, std::string_view value, Origin origin);
  /// The line starts like a record of `format` but is cut or damaged.
  void truncated(std::size_t line, std::string_view format);

  Evidence& evidence() { return evidence_; }
  [[nodiscard]] int file() const { return file_; }

 private:
  const Document& document_;
  int file_;
  Evidence& evidence_;
  std::vector<bool> claimed_;
  std::vector<std::size_t> titles_;
  std::unordered_set<std::string> stated_;  ///< Configuration already taken from this file.
};

struct Reader {
  std::string_view name;
  void (*read)(const Document& document, Sink& sink);
};

/// All readers, most specific first. Configuration and prose come last and see every line.
[[nodiscard]] std::span<const Reader> readers();

/// Runs the readers over `document` and appends what it says, and what nobody understood.
void gather(const Document& document, Evidence& evidence, std::span<const Reader> with = readers());

/// `--set key=value`: refuses unknown keys and impossible values.
[[nodiscard]] Status set_option(Evidence& evidence, std::string_view assignment);
/// The keys --set takes, in the order of the documentation.
[[nodiscard]] std::span<const std::string_view> config_keys();

}  // namespace shunt::logs
