// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// What every fuzzer drives, with the invariants that any input must keep. A violation aborts.
#pragma once

#include <string_view>

namespace shunt::fuzz {

/// Reads `bytes` as a pasted file and judges what it says. `only`: by the reader of that name, the
/// configuration's and the prose's readers; empty: by all.
void read_and_judge(std::string_view bytes, std::string_view only = {});

/// Reads `bytes` as a trace that shunt exported, measures and judges it.
void read_export(std::string_view bytes);

/// Reads `bytes` as any file, traces of others included, and judges what it says.
void read_file(std::string_view bytes);

/// Decodes and cleans only.
void clean(std::string_view bytes);

}  // namespace shunt::fuzz
