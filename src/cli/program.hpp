// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// What all verbs share: options, messages, exit codes. A verb is one file with a function
// `void add_<verb>(Program&)` (verbs.hpp) that a main names in its list.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "shunt/error.hpp"

namespace shunt::cli {

/// Exit statuses, the same for all verbs. Scripts rely on them: never renumber.
enum class Exit : int {
  kDone = 0,         ///< Done; nothing at or above --fail-on.
  kFindings = 1,     ///< Findings, or a threshold that was missed.
  kUsage = 2,        ///< The command line is wrong; nothing was done.
  kInput = 3,        ///< Input that cannot be read or is corrupt.
  kEnvironment = 4,  ///< The machine lacks something: device, provider, permission, memory.
  kRunFailed = 5,    ///< A measured run failed: wrong data, time-out, rank lost.
  kIncomplete = 6,   ///< The result lacks something, under --strict.
  kInternal = 70,    ///< A bug of ours.
};

/// The status for an error; `system` is what a failed system call means to the verb (input that
/// cannot be opened, or a machine that lacks something).
[[nodiscard]] Exit exit_for(const Error& error, Exit system = Exit::kInput);

/// The version with its git revision: "0.1.0+g1a2b3c4", for run.json and reports.
[[nodiscard]] const char* version();

class Program {
 public:
  /// `examples`: two commands, the first lines of --help.
  Program(std::string name, const std::string& summary, const std::vector<std::string>& examples);

  /// A verb with its own options; `run` is called after they were parsed and gives the status.
  /// Options bind to values that outlive the call: let `run` share their ownership.
  CLI::App& add_verb(const std::string& name,
                     const std::string& summary,
                     const std::vector<std::string>& examples,
                     std::function<Exit()> run);
  /// The verb that is meant where the first argument is none, but `means` it: then it may be left
  /// out, also in front of its options.
  void set_unnamed_verb(const CLI::App& verb,
                        std::string described,
                        std::function<bool(const std::string&)> means);
  /// A line of --version: "libfabric 1.17.0".
  void add_feature(std::string feature) { features_.push_back(std::move(feature)); }

  /// Parses and runs; the value for main() to return.
  [[nodiscard]] int run(int argc, const char* const* argv);

 private:
  struct Unnamed {
    const CLI::App* verb = nullptr;
    std::string described;  ///< "file, directory or pattern that matches one"
    std::function<bool(const std::string&)> means;
  };

  [[nodiscard]] Exit dispatch(std::vector<std::string> arguments);
  /// The verb that the arguments leave out; null if none is meant.
  [[nodiscard]] const CLI::App* unnamed_verb(const std::string& first) const;
  [[nodiscard]] std::string unknown_words(const std::string& first) const;
  [[nodiscard]] Exit refuse_usage(const std::string& what) const;
  [[nodiscard]] std::string verb_names() const;
  [[nodiscard]] std::string version_text() const;

  std::string name_;
  CLI::App app_;
  Unnamed unnamed_;
  std::vector<std::string> features_;
  std::vector<std::pair<CLI::App*, std::function<Exit()>>> verbs_;
};

/// One line on stderr, "shunt: <message>", and the status.
Exit complain(const Error& error, Exit system = Exit::kInput);
/// "shunt: <message>" on stderr.
void complain(const std::string& message);

}  // namespace shunt::cli
