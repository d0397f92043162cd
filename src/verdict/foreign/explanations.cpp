// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "verdict/explain.hpp"

namespace shunt::verdict {
namespace {

#define SHUNT_EXPLAINED(id, fires_when, needs, derivation, source) \
  Explanation{id, fires_when, needs, derivation, source},
constexpr auto kExplanations = std::to_array<Explanation>({
#include "verdict/foreign/explanations.inc"
});
#undef SHUNT_EXPLAINED

}  // namespace

std::span<const Explanation> explanations() {
  return kExplanations;
}

const Explanation* explanation_of(std::string_view id) {
  const auto found = std::ranges::find(kExplanations, id, &Explanation::id);
  return found == kExplanations.end() ? nullptr : &*found;
}

}  // namespace shunt::verdict
