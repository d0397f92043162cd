// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// What a random routing moves on average, in closed form: the yardstick for a log that does not
// show its routing. Pure. called from: logs, model, tests.
//
// A domain is a set of experts that share one copy of a token: a rank (domains = world) or a node
// (domains = nodes). All domains, and all groups, hold the same number of experts.
#pragma once

#include "shunt/result.hpp"

namespace shunt::traffic {

/// Expected distinct domains per token for uniform top-k without replacement:
/// D · (1 − C(E − E/D, K) / C(E, K)). Refuses domains that do not divide the experts, and K > E.
[[nodiscard]] Result<double> expected_copies(int domains, int experts, int topk);

/// The same for figures from a log, whose experts need not divide evenly: domains of E/D experts in
/// the mean. 0 where there are no experts or no choices; D where every domain must be hit.
[[nodiscard]] double average_copies(double domains, double experts, double topk);

/// Share of the copies that leave the own domain, uniform routing: (D − 1) / D.
[[nodiscard]] constexpr double remote_share(double domains) {
  return domains <= 1.0 ? 0.0 : (domains - 1.0) / domains;
}

/// Of expected_copies(), the ones outside the own domain.
[[nodiscard]] Result<double> expected_remote_copies(int domains, int experts, int topk);

/// How a group-limited router limits itself: each token's experts come from `top_groups` of
/// `groups` equal groups of consecutive experts, those whose best expert scores highest.
struct GroupLimit {
  int groups = 1;
  int top_groups = 1;
};

/// Expected distinct domains per token for group-limited top-k over independent equal scores. Exact
/// (a recursion over the ranking, docs/ledger.md). A domain must consist of whole groups, or a
/// group of whole domains; otherwise refused.
[[nodiscard]] Result<double> expected_copies(int domains, int experts, int topk, GroupLimit limit);

}  // namespace shunt::traffic
