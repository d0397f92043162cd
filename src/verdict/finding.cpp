// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "verdict/finding.hpp"

#include <algorithm>

namespace shunt::verdict {

const char* to_string(Severity severity) {
  switch (severity) {
    case Severity::kInfo:
      return "info";
    case Severity::kNotice:
      return "notice";
    case Severity::kWarning:
      return "warning";
    case Severity::kCritical:
      return "critical";
  }
  return "unknown";
}

const char* to_string(Confidence confidence) {
  switch (confidence) {
    case Confidence::kLow:
      return "low";
    case Confidence::kMedium:
      return "medium";
    case Confidence::kHigh:
      return "high";
  }
  return "unknown";
}

void sort_findings(std::vector<Finding>& findings) {
  std::ranges::stable_sort(findings, std::ranges::greater{}, &Finding::severity);
}

}  // namespace shunt::verdict
