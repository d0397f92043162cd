// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// The text that names a routing. in: "zipf:1.2,drop=0.1" → out: RoutingSpec. called from: bench,
// tuner, tests.
#pragma once

#include <string>
#include <string_view>

#include "shunt/result.hpp"

namespace shunt::routing {

enum class Pattern { kUniform, kZipf, kGroup, kHot, kAllToOne, kFile };

/// What to generate. As text: PATTERN[,drop=F], where PATTERN is one of
///
///   uniform           every set of top-k experts equally likely
///   zipf:S            the n-th most popular expert drawn in proportion to n^−S, 0 ≤ S ≤ 16; which
///                     expert is n-th depends on the seed alone, so all ranks agree
///   group:G/L         group-limited: G equal groups of consecutive experts, a token's L groups
///   with
///                     the best expert, then the best top-k experts inside those
///   hot:F             a fraction F of the tokens selects expert 0, the other slots are uniform
///   all-to-one        every token selects experts 0 … top-k − 1: as few ranks as can hold them
///   file:PATH[,weights=PATH]   recorded ids and weights, .npy or .csv (recorded.hpp)
///
/// and drop=F turns each slot into −1 (no expert) with probability F.
struct RoutingSpec {
  Pattern pattern = Pattern::kUniform;
  double exponent = 1.0;      ///< zipf
  int groups = 1;             ///< group
  int top_groups = 1;         ///< group
  double hot_fraction = 1.0;  ///< hot
  double drop = 0.0;          ///< Any pattern: probability that a slot is empty.
  std::string path;           ///< file: "{rank}" in it stands for the rank.
  std::string weights_path;   ///< file: empty = look beside the ids.

  [[nodiscard]] static Result<RoutingSpec> parse(std::string_view text);
  /// The text that parses to this value again.
  [[nodiscard]] std::string to_string() const;

  friend bool operator==(const RoutingSpec&, const RoutingSpec&) = default;
};

}  // namespace shunt::routing
