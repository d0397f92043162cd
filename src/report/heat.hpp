// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Rates between every two devices or ranks, drawn: the darker the faster, pairs that stay behind
// marked.
#pragma once

#include <cstddef>
#include <string>

#include "logs/rate_matrix_facts.hpp"
#include "report/report.hpp"

namespace shunt::report {

[[nodiscard]] Heat make_heat(const logs::RateMatrix& matrix, std::string id, std::string title);

/// As text of at most `width` columns: the figures where they fit, else one digit a pair, tenths of
/// the best of its kind (inside a node, between nodes). Pairs that stay behind carry a `!`, or are
/// one, and are listed. No title.
[[nodiscard]] std::string heat_text(const Heat& heat, std::size_t width);

/// "362", "46.5", "9.91": GB/s in three digits.
[[nodiscard]] std::string heat_figure(double gbs);

/// 0 to 9: how far up a cell is between nothing and the highest rate off the diagonal.
[[nodiscard]] int heat_step(const Heat& heat, const HeatCell& cell);

/// "0 → 3 9.9, 3 → 0 9.9, and 4 more"; empty if none is marked.
[[nodiscard]] std::string behind_list(const Heat& heat);

}  // namespace shunt::report
