// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "report/report.hpp"
#include "shunt/result.hpp"

namespace shunt::report {

/// Schema "shunt.report/1" (docs/schemas/report.json): additive within the version. Times and bytes
/// are integers, what is unavailable is null, there is no NaN. A trailing newline.
[[nodiscard]] std::string render_json(const Report& report);

/// One table, RFC 4180: a header of the JSON keys, then the rows; an unavailable cell is empty.
/// `table`: an id, or empty for the first. Refuses an id that the report lacks.
[[nodiscard]] Result<std::string> render_csv(const Report& report, const std::string& table);

}  // namespace shunt::report
