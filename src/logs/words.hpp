// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Cutting pasted text into words and numbers. Never throws, never reads past its argument.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shunt::logs {

/// Words between blanks, tabs, no-break spaces (UTF-8) and the given extra separators.
[[nodiscard]] std::vector<std::string_view> split_words(std::string_view text,
                                                        std::string_view extra = {});

/// Digits only, thousands separators (, _ ') between groups of three allowed; the whole word.
[[nodiscard]] std::optional<std::uint64_t> parse_count(std::string_view word);
/// As parse_count, for a port, lane or link number: nullopt beyond six digits.
[[nodiscard]] std::optional<int> small_count(std::string_view word);

/// "0x1a" or "1a"; the whole word.
[[nodiscard]] std::optional<std::uint64_t> parse_hex(std::string_view word);

[[nodiscard]] bool contains(std::string_view text, std::string_view part);

}  // namespace shunt::logs
