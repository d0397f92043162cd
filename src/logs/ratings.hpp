// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// What hardware is rated at: one table (ratings.inc), each row with its source; docs/ratings.md is
// generated from it. Directions are single; GB/s is 1e9 bytes/s.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace shunt::logs {

enum class RatedPart { kNic, kInstance, kGpu, kPcie, kLink };

struct Rated {
  RatedPart part;
  std::string_view name;       ///< As reports print it: "ConnectX-7".
  std::string_view spellings;  ///< "|"-separated whole words, any case.
  double gbs;                  ///< Rating of one device or link, one direction, GB/s.
  double usable_gbs;           ///< What large transfers reach; 0: taken as 0.92 of the rating.
  int per_node;                ///< Devices in a node where the name fixes it (instances), else 0.
  int links;                   ///< Scale-up links of a GPU's chip; 0: not known.
  int bridged;                 ///< Of these, what bridges between cards can use; 0: no bridges.
  std::string_view note;
  std::string_view source;
};

[[nodiscard]] std::span<const Rated> ratings();
/// The first row of `part` one of whose spellings stands in `text` as a word ("8xH100" counts).
[[nodiscard]] const Rated* find_rating(RatedPart part, std::string_view text);
[[nodiscard]] const Rated* rating_named(RatedPart part, std::string_view name);

/// Standard port rates, ascending, GB/s: 10, 25, 40, 50, 100, 200, 400, 800 Gb/s.
[[nodiscard]] std::span<const double> standard_rates();
/// The smallest standard rate that carries `gbs` (1 % slack); nullopt above 800 Gb/s.
[[nodiscard]] std::optional<double> smallest_fitting_rate(double gbs);

/// docs/ratings.md, whole.
[[nodiscard]] std::string ratings_markdown();

}  // namespace shunt::logs
