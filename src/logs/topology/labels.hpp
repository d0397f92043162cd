// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Row and column labels of pasted matrices.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/topology.hpp"

namespace shunt::logs {

/// "GPU3" or "NPU3" → 3; nothing for other words.
[[nodiscard]] std::optional<int> gpu_index(std::string_view word);

/// Number at the end of "NIC7", "mlx5_7", "bnxt_re7"; 0 if there is none.
[[nodiscard]] int trailing_index(std::string_view word);

/// Could name an RDMA device: "mlx5_bond_0", "rdmap85s0", "NIC3", "ibp24s0".
[[nodiscard]] bool is_nic_label(std::string_view word);

/// Known driver prefix or the usual renames: certain enough to take the word for a NIC in prose.
[[nodiscard]] bool is_rdma_name(std::string_view word);

/// A GPU or NIC of that label.
[[nodiscard]] cluster::Device device_of(std::string_view label);

/// Labels of a header line, in order; columns such as "CPU Affinity" end it, also when glued to the
/// last label ("NIC11CPU"). Empty if the line is no header.
[[nodiscard]] std::vector<std::string> header_labels(std::string_view line);

}  // namespace shunt::logs
