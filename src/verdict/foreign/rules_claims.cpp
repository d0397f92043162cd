// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// A rate that the writer says another way of running reached, against the sweep in the paste.
#include <fmt/format.h>

#include "verdict/foreign/build.hpp"
#include "verdict/foreign/rules_list.hpp"
#include "verdict/foreign/sweeps.hpp"

namespace shunt::verdict::foreign {

void judge_claims(const Situation& s, Findings& findings) {
  for (const logs::Claim& claim : s.evidence.claims) {
    const logs::Sweep* best = nullptr;
    for (const logs::Sweep& sweep : s.evidence.sweeps) {
      const logs::SweepRow* row = best_row(sweep);
      if (sweep.source.file != claim.source.file || sweep.path != logs::Path::kWire ||
          row == nullptr) {
        continue;
      }
      if (best == nullptr || *row->rate_gbs > *best_row(*best)->rate_gbs) best = &sweep;
    }
    if (best == nullptr) continue;
    const logs::SweepRow& row = *best_row(*best);
    const double ratio = claim.gbs / *row.rate_gbs;
    if (ratio < 1.4 || ratio > 1000) continue;
    findings.push_back(
        Build("software-bound", Severity::kWarning, Confidence::kMedium, title(s, *best))
            .say(fmt::format("{} at most here, {} when run another way ({}): {:.1f} × on the same "
                             "machines, so the link carries it, and what limits this run is the "
                             "library, its transport or a setting.",
                             gbs(*row.rate_gbs),
                             gbs(claim.gbs),
                             place(s, claim.source),
                             ratio))
            .fact("best row", row.source.text, place(s, row.source))
            .fact("the other way", claim.source.text, place(s, claim.source))
            .because(fmt::format("{:.4g} / {:.4g} = {:.1f}", claim.gbs, *row.rate_gbs, ratio))
            .act("Ask the slow way which transport and device it picked (UCX: UCX_LOG_LEVEL=info; "
                 "NCCL: NCCL_DEBUG=INFO), and give both the same one.")
            .confirm("the same sweep, printed by the faster way"));
  }
}

}  // namespace shunt::verdict::foreign
