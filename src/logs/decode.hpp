// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes → UTF-8 text without terminal escapes. Used by document.cpp only.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace shunt::logs {

/// UTF-8 text; BOM dropped, UTF-16 decoded, NUL and undecodable bytes replaced by a space. What was
/// done is appended to `notes`.
[[nodiscard]] std::string decode_text(std::string_view bytes, std::vector<std::string>& notes);

/// Removes ANSI/VT escapes: CSI, OSC, two-character ones, and colour codes whose ESC was lost on
/// the way ("[1;32m").
[[nodiscard]] std::string strip_escapes(std::string_view text);

}  // namespace shunt::logs
