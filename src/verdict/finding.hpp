// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// What a rule concluded. in: Measures, Ledger, Evidence → out: Finding, rendered by report/.
#pragma once

#include <string>
#include <vector>

namespace shunt::verdict {

/// Worst first in reports; kInfo never changes an exit status. In JSON by name.
enum class Severity { kInfo, kNotice, kWarning, kCritical };

/// How sure the rule is, given the evidence it had. In JSON by name.
enum class Confidence { kLow, kMedium, kHigh };

/// One number or fact that the finding rests on.
struct Evidence {
  std::string name;    ///< "wire utilisation"
  std::string value;   ///< "0.951", with its unit
  std::string source;  ///< "puts and arrivals of link 0→1, run.json link_rate", "line 14"
};

struct Finding {
  std::string id;  ///< From the catalogue: "saturated". Stable; JSON consumers match on it.
  Severity severity = Severity::kInfo;
  Confidence confidence = Confidence::kHigh;
  std::string where;     ///< "link node 0 → node 1", "rank 3", "dispatch"
  std::string sentence;  ///< The verdict, one sentence, with its figures.
  std::vector<Evidence> evidence;
  std::string derivation;  ///< The arithmetic in one line, for --explain.
  std::string action;      ///< What to do.
  std::string confirm;     ///< What would confirm (or refute) it.
};

[[nodiscard]] const char* to_string(Severity severity);
[[nodiscard]] const char* to_string(Confidence confidence);

/// Sorts worst first, stable within a severity.
void sort_findings(std::vector<Finding>& findings);

}  // namespace shunt::verdict
