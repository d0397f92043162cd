// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "verdict/foreign/situation.hpp"

namespace shunt::verdict::foreign {

Situation make_situation(const logs::Evidence& evidence) {
  return {evidence};
}

}  // namespace shunt::verdict::foreign
