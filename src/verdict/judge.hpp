// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Rules on own runs. in: Measures and run.json → out: findings, and what could not be judged.
// called from: report/, cli/.
#pragma once

#include <string>
#include <vector>

#include "analysis/measures.hpp"
#include "profile/recording.hpp"
#include "verdict/finding.hpp"

namespace shunt::verdict {

/// A rule that had no input to decide on.
struct Unchecked {
  std::string id;
  std::string missing;  ///< "no link rate: give --link-rate to the run"
};

struct Judgement {
  std::string headline;  ///< One sentence: what limits this run, or that nothing was found.
  std::vector<Finding> findings;     ///< Worst first.
  std::vector<std::string> checked;  ///< Ids of the rules that had what they need.
  std::vector<Unchecked> unchecked;
};

[[nodiscard]] Judgement judge(const profile::RecordingSummary& recording,
                              const analysis::Measures& measures);

/// One entry of the catalogue of findings; docs/findings/<id>.md is its page.
struct CatalogueEntry {
  std::string id;
  std::string fires_when;
  std::string says;
};

/// The findings that judge() can give, in the order of their rules.
[[nodiscard]] const std::vector<CatalogueEntry>& own_run_catalogue();

}  // namespace shunt::verdict
