// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// One `nvidia-smi topo -m` matrix as it stands in the paste, and the lines it is made of.
// in: lines → out: rows, legend, caption. Used by nvidia_matrix.cpp and nvidia_resolve.cpp only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cluster/topology.hpp"

namespace shunt::logs {

struct MatrixRow {
  std::string label;
  std::vector<cluster::Path> cells;
  std::vector<std::string> rest;  ///< Words after the cells: affinities.
  std::size_t line = 0;
};

/// One matrix as it stands in the paste, before columns are resolved.
struct MatrixDraft {
  std::vector<std::string> header;
  std::size_t affinity_columns = 0;  ///< That the header announces; 0 without a header.
  std::vector<MatrixRow> rows;
  std::map<std::string, std::string> legend;  ///< NIC label → RDMA device.
  std::string node;
  bool pcie_view = false;
  std::size_t first_line = 0;
  std::size_t last_line = 0;

  [[nodiscard]] bool has_row(const std::string& label) const {
    return std::any_of(
        rows.begin(), rows.end(), [&label](const MatrixRow& row) { return row.label == label; });
  }
};

/// "GPU3", "mlx5_0", "NIC1".
[[nodiscard]] bool is_device_label(std::string_view word);
[[nodiscard]] std::optional<MatrixRow> parse_matrix_row(std::string_view line);
/// "NIC0: mlx5_0" of the NIC legend; also "NIC0 = mlx5_0".
[[nodiscard]] std::optional<std::pair<std::string, std::string>> parse_nic_legend(
    std::string_view line);
/// "  PIX  = Connection traversing at most a single PCIe bridge".
[[nodiscard]] bool is_path_legend(std::string_view line);
/// Takes the name that the text before a matrix gives it: a prompt's host, or "… on server 1:".
void apply_caption(std::string_view line, MatrixDraft& draft);

/// Columns, cells, affinities and what is missing. nvidia_resolve.cpp
[[nodiscard]] cluster::Topology resolve_matrix(const MatrixDraft& draft);

}  // namespace shunt::logs
