// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// AMD's views of how GPUs are linked. in: lines → out: cluster::Topology each.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/topology.hpp"

namespace shunt::logs {

struct Document;
class Sink;

/// `rocm-smi --showtopo` (weights, hops, link types, NUMA nodes) and the tables of `amd-smi
/// topology`. Passes over lines with used[i] set, and sets it for those it reads.
[[nodiscard]] std::vector<cluster::Topology> read_amd_tables(
    std::span<const std::string_view> lines, std::vector<bool>& used);

/// The square of link counts in `xgmi_num_links` (or hops in `xgmi_num_hops`): n lines of n
/// two-digit hexadecimal numbers, symmetric, zero on the diagonal.
[[nodiscard]] std::vector<cluster::Topology> read_xgmi_counts(
    std::span<const std::string_view> lines, std::vector<bool>& used);

/// `amd-smi xgmi`: matrices of links, and what each GPU read and wrote as counters.
void read_amd_xgmi(const Document& document, Sink& sink);
/// The same of `amd-smi xgmi --json`, which stands in lines [begin, end). False if it is not that.
bool read_amd_xgmi_json(const std::string& text,
                        std::size_t begin,
                        std::size_t end,
                        const Document& document,
                        Sink& sink);

/// `amd-smi topology --json` or `rocm-smi --showtopo --json`. Empty if the text is not that.
[[nodiscard]] std::vector<cluster::Topology> read_amd_json(const std::string& text);

}  // namespace shunt::logs
