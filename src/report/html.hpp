// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "report/report.hpp"

namespace shunt::report {

/// A report and the picture that belongs to it.
struct PagePart {
  const Report* report = nullptr;
  std::string timeline;        ///< Markup of inline_timeline(); empty: none.
  std::string timeline_title;  ///< Text: "iteration 3".
};

/// One self-contained page: no scripts, nothing to fetch, light and dark, well-formed as XML too.
/// `program` names who made it: "shunt analyze 0.1.0". REQUIRES: at least one part.
[[nodiscard]] std::string render_html(std::span<const PagePart> parts, const std::string& program);

}  // namespace shunt::report
