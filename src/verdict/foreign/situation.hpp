// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// The evidence and what follows from it by arithmetic alone, computed once for all rules.
#pragma once

#include "logs/evidence.hpp"

namespace shunt::verdict::foreign {

struct Situation {
  const logs::Evidence& evidence;
};

[[nodiscard]] Situation make_situation(const logs::Evidence& evidence);

}  // namespace shunt::verdict::foreign
