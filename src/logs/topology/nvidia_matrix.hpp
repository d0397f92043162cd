// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// `nvidia-smi topo -m` and its kin (npu-smi, collect_env) as pasted: any vintage, tabs or blanks,
// merged or missing headers, cut rows, several matrices. in: lines → out: cluster::Topology each.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "cluster/topology.hpp"

namespace shunt::logs {

/// Reads every matrix in `lines` (one line each, no newline), passing over lines with used[i] set,
/// and sets it for those that are part of one. REQUIRES: used.size() == lines.size().
[[nodiscard]] std::vector<cluster::Topology> read_nvidia_matrices(
    std::span<const std::string_view> lines, std::vector<bool>& used);

}  // namespace shunt::logs
