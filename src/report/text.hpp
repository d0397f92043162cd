// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "report/report.hpp"

namespace shunt::report {

struct TextOptions {
  std::size_t width = 100;   ///< Columns. Tables are not broken: their columns are chosen to fit.
  bool colour = false;       ///< Never the only signal: words say the same.
  bool all_columns = false;  ///< Also the table columns that only JSON shows otherwise.
  std::string explain;       ///< A finding id, or "all": adds rule, derivation and evidence.
};

/// True for a terminal, unless NO_COLOR is set or TERM is "dumb".
[[nodiscard]] bool wants_colour(int fd);

/// Title, verdict, configuration, tables, ledger, bars, findings, notes; a trailing newline.
[[nodiscard]] std::string render_text(const Report& report, const TextOptions& options);

}  // namespace shunt::report
