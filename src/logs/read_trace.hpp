// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// One input, whatever it is: told apart by its first bytes, read once. Called from: cli.
#pragma once

#include <string>

#include "logs/evidence.hpp"
#include "trace/chrome/byte_source.hpp"
#include "trace/chrome/phases.hpp"

namespace shunt::logs {

/// Reads an input of any kind to its end and adds what it says: a trace (Chrome JSON, Perfetto) in
/// bounded memory, anything else as text. Fails on a trace without one event that can be read, and
/// on bytes that cannot be read at all. `name`: for reports.
[[nodiscard]] Status gather_input(trace::HeadSource& bytes,
                                  const std::string& name,
                                  const trace::PhaseTable& table,
                                  Evidence& evidence);

/// The same of the file at `path` ("-": standard input), with the built-in phases.
[[nodiscard]] Status gather_file(const std::string& path, Evidence& evidence);

/// Another file holds more of the same rank: this one is its cut copy, no rank of its own.
[[nodiscard]] bool is_cut_copy(const Evidence& evidence, const TraceFact& fact);

}  // namespace shunt::logs
