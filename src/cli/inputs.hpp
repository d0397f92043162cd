// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// What the arguments of a verb name: runs, read and judged, and files for the readers of logs.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cli/run_analysis.hpp"
#include "shunt/result.hpp"
#include "trace/chrome/byte_source.hpp"

namespace shunt::cli {

/// A file that is no run.
struct LogInput {
  std::string name;
  /// What can be read only once (standard input, a pipe) stays open from when it was looked at.
  std::unique_ptr<trace::HeadSource> bytes;

  /// Once.
  [[nodiscard]] Result<std::unique_ptr<trace::HeadSource>> open();
};

struct Inputs {
  std::vector<RunAnalysis> runs;
  std::vector<LogInput> logs;  ///< Each file once, however many arguments name it.
};

/// Files, directories, globs, "-". A pattern that matches nothing is the error of a missing file.
[[nodiscard]] Result<Inputs> open_inputs(std::span<const std::string> arguments);

/// Takes out of the values of --set what is no assignment but names an input: `--set rate=400G
/// FILE` reaches it that way.
[[nodiscard]] std::vector<std::string> inputs_among(std::vector<std::string>& assignments);

/// The argument is "-", or names at least one file or directory.
[[nodiscard]] bool names_input(const std::string& argument);

}  // namespace shunt::cli
