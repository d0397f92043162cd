// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace shunt {

/// Element type of rows. On disk (run.json by name, records by value): never renumber.
enum class DType : std::uint8_t { kF32 = 0, kBF16 = 1, kF16 = 2 };

/// Bytes of one element.
[[nodiscard]] constexpr std::size_t size_of(DType type) {
  return type == DType::kF32 ? 4U : 2U;
}

/// "fp32", "bf16", "fp16": the names that options, run.json and reports use.
[[nodiscard]] const char* to_string(DType type);
[[nodiscard]] std::optional<DType> parse_dtype(std::string_view name);

}  // namespace shunt
