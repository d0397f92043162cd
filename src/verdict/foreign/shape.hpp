// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// What shape a file's run had and what its NICs are rated at, from statements and from the numbers.
// Used by situation.cpp only.
#pragma once

#include <vector>

#include "verdict/foreign/situation.hpp"

namespace shunt::verdict::foreign {

[[nodiscard]] Shape make_shape(const logs::Evidence& evidence,
                               const std::vector<Op>& ops,
                               int file);
[[nodiscard]] Rating make_rating(const logs::Evidence& evidence, const Shape& shape, int file);

}  // namespace shunt::verdict::foreign
