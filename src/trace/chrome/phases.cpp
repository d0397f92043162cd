// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "trace/chrome/phases.hpp"

#include <cerrno>
#include <fstream>
#include <iterator>

#include "base/error.hpp"

namespace shunt::trace {
namespace {

struct Builtin {
  const char* pattern;
  const char* phase;
};

// First match wins: longer names stand before their parts.
constexpr Builtin kBuiltin[] = {
    {"=ep_dispatch_copy_to_staging", "copy_to_staging"},
    {"=dispatch_inter_node_send", "dispatch_inter_node_send"},
    {"=dispatch_inter_node_recv", "dispatch_inter_node_recv"},
    {"=dispatch_inter_node_ll_send", "dispatch_inter_node_send"},
    {"=dispatch_inter_node_ll_recv", "dispatch_inter_node_recv"},
    {"=dispatch_intra", "dispatch_intra"},
    {"=dispatch_sync", "dispatch_sync"},
    {"=combine_sync", "combine_sync"},
    {"=ep_combine_sync_barrier", "combine_sync_barrier"},
    {"=combine_inter_node", "combine_inter_node"},
    {"=combine_inter_node_ll", "combine_inter_node"},
    {"=combine_intra_node", "combine_intra_node"},
    {"=combine_intra_node_ll", "combine_intra_node"},
    {"=ep_combine_all", "combine_all"},
    {"SendRecv", "all_to_all"},
    {"AllToAll", "all_to_all"},
    {"ReduceScatter", "reduce_scatter"},
    {"AllReduce", "all_reduce"},
    {"AllGather", "all_gather"},
    {"ncclKernel_Broadcast", "broadcast"},
    {"ncclDevKernel_Broadcast", "broadcast"},
    {"notify_dispatch", "notify"},
    {"cached_notify", "notify"},
    {"internode_ll::dispatch", "dispatch"},
    {"internode_ll::combine", "combine"},
    {"internode::dispatch", "dispatch"},
    {"internode::combine", "combine"},
    {"intranode::dispatch", "dispatch"},
    {"intranode::combine", "combine"},
    {"EpDispatch", "dispatch"},
    {"EpCombine", "combine"},
    {"dispatch_kernel", "dispatch"},
    {"combine_kernel", "combine"},
    {"dispatch_impl", "dispatch"},
    {"combine_impl", "combine"},
};

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") + 1 - begin);
}

}  // namespace

PhaseTable::PhaseTable() {
  for (const Builtin& rule : kBuiltin) rules_.push_back({rule.pattern, rule.phase});
}

Status PhaseTable::load(const std::string& path) {
  std::ifstream file(path);
  if (!file) return system_error(errno, "cannot open the phase table '{}'", path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return add(path, text);
}

Status PhaseTable::add(const std::string& name, std::string_view text) {
  std::vector<PhaseRule> rules;
  std::size_t number = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = trimmed(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    ++number;
    if (line.empty() || line[0] == '#') continue;
    const std::size_t arrow = line.find("->");
    const std::string_view pattern = trimmed(line.substr(0, arrow));
    const std::string_view phase =
        arrow == std::string_view::npos ? std::string_view{} : trimmed(line.substr(arrow + 2));
    if (pattern.empty() || phase.empty()) {
      return usage_error("{} line {}: '{}' is not 'pattern -> phase'", name, number, line);
    }
    rules.push_back({std::string(pattern), std::string(phase)});
  }
  rules_.insert(rules_.begin(), rules.begin(), rules.end());
  return {};
}

std::string_view PhaseTable::phase_of(std::string_view span) const {
  for (const PhaseRule& rule : rules_) {
    const std::string_view pattern = rule.pattern;
    const bool whole = pattern[0] == '=';
    if (whole ? span == pattern.substr(1) : span.find(pattern) != std::string_view::npos) {
      return rule.phase;
    }
  }
  return {};
}

}  // namespace shunt::trace
