// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Private to report/: the sections of a page. Each is empty where the report has nothing for it;
// all foreign text in them is escaped.
#pragma once

#include <string>

#include "report/report.hpp"

namespace shunt::report {

[[nodiscard]] std::string html_findings(const Report& report);
[[nodiscard]] std::string html_bars(const Report& report);
[[nodiscard]] std::string html_matrices(const Report& report);
[[nodiscard]] std::string html_heats(const Report& report);
/// The rates of a table that holds a sweep, as lines; empty for other tables.
[[nodiscard]] std::string html_chart(const Table& table);
[[nodiscard]] std::string html_tables(const Report& report);
[[nodiscard]] std::string html_ledger(const Report& report);
[[nodiscard]] std::string html_config(const Report& report);
/// What was read and could not be read, which rules decided.
[[nodiscard]] std::string html_coverage(const Report& report);

}  // namespace shunt::report
