// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// A topology as a matrix with its problems marked: the one drawing behind `shunt topo` and the
// reports on pasted matrices.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "cluster/topology.hpp"
#include "report/report.hpp"

namespace shunt::report {

/// Judges the topology (cluster::assess) and lays it out.
[[nodiscard]] Matrix make_matrix(const cluster::Topology& topology,
                                 std::string id,
                                 std::string title);

/// As text in blocks of at most `width` columns: `*` the GPU's own NIC, `!` a problem, `^` an index
/// trap; a legend of the marks that occur, the problems, the devices, the gaps. No title.
[[nodiscard]] std::string matrix_text(const Matrix& matrix, std::size_t width);

/// The marks of a cell: "*", "!", "*!", "^" or nothing.
[[nodiscard]] std::string mark_text(const MatrixCell& cell);

/// Mark and meaning for each mark that occurs.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> mark_legend(const Matrix& matrix);

}  // namespace shunt::report
