// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "shunt/types.hpp"

namespace shunt::exec {

/// One addend of a row sum. Terms come in the order of the numerics (docs/numerics.md): node by
/// node, within the own node rank by rank; `ends_partial` closes a node's partial.
struct SumTerm {
  const std::byte* data = nullptr;
  DType type = DType::kBF16;
  bool ends_partial = true;
};

/// Types of a sum: partials are rounded to `partial`, the result to `output`.
struct SumTypes {
  DType partial = DType::kBF16;
  DType output = DType::kBF16;
};

}  // namespace shunt::exec
