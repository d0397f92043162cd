// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// What a random routing moves on average, in closed form: the yardstick for a log that does not
// show its routing. Pure. called from: analysis, model, tests.
//
// A domain is a set of experts that share one copy of a token: a rank (domains = world) or a node
// (domains = nodes). All domains, and all groups, hold the same number of experts.
#pragma once

#include "shunt/result.hpp"

namespace shunt::traffic {

/// ln C(n, k); −infinity where k < 0 or k > n. Sums k logarithms: no cancellation, no lgamma (which
/// writes a global).
[[nodiscard]] double log_choose(int n, int k);

/// Expected distinct domains per token for uniform top-k without replacement:
/// D · (1 − C(E − E/D, K) / C(E, K)). Refuses domains that do not divide the experts, and K > E.
[[nodiscard]] Result<double> expected_copies(int domains, int experts, int topk);

/// Of those, the ones outside the own domain: · (D − 1) / D.
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
