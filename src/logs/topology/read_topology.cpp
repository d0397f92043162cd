// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <utility>
#include <vector>

#include "logs/readers.hpp"
#include "logs/topology/amd_tables.hpp"
#include "logs/topology/nvidia_matrix.hpp"
#include "logs/topology/peer_matrix.hpp"
#include "logs/words.hpp"

namespace shunt::logs {
namespace {

void add(std::vector<cluster::Topology> found,
         std::size_t offset,
         const Document& document,
         Sink& sink) {
  for (cluster::Topology& topology : found) {
    const std::size_t at = offset + topology.first_line - 1;
    TopologyFact fact;
    fact.source = sink.source(at);
    fact.tool = topology.source;
    topology.last_line = document.lines[offset + topology.last_line - 1].number;
    topology.first_line = document.lines[at].number;
    fact.topology = std::move(topology);
    sink.recognised(fact.tool);
    sink.evidence().topologies.push_back(std::move(fact));
  }
}

/// The first bracketed block of lines, [begin, end); empty if there is none.
std::pair<std::size_t, std::size_t> json_block(const Document& document, const Sink& sink) {
  std::size_t begin = 0;
  const auto starts = [&](std::size_t at) {
    const std::string& text = document.lines[at].text;
    return !sink.claimed(at) && !text.empty() && (text[0] == '[' || text[0] == '{');
  };
  while (begin < document.lines.size() && !starts(begin)) {
    ++begin;
  }
  std::size_t end = document.lines.size();
  while (end > begin &&
         (document.lines[end - 1].text.empty() || (document.lines[end - 1].text.back() != ']' &&
                                                   document.lines[end - 1].text.back() != '}'))) {
    --end;
  }
  return {begin, end};
}

void read_json(const Document& document, Sink& sink) {
  const auto [begin, end] = json_block(document, sink);
  std::string text;
  bool links = false;
  bool metrics = false;
  for (std::size_t at = begin; at < end; ++at) {
    links = links || contains(document.lines[at].text, "link_type") ||
            contains(document.lines[at].text, "(Topology) Link type");
    metrics = metrics || contains(document.lines[at].text, "link_metrics");
    text += document.lines[at].text + "\n";
  }
  if (metrics && read_amd_xgmi_json(text, begin, end, document, sink)) {
    for (std::size_t at = begin; at < end; ++at) {
      sink.claim(at);
    }
    return;
  }
  if (!links) {
    return;
  }
  std::vector<cluster::Topology> found = read_amd_json(text);
  if (found.empty()) {
    return;
  }
  found.front().first_line = 1;
  found.front().last_line = end - begin;
  for (std::size_t at = begin; at < end; ++at) {
    sink.claim(at);
  }
  add(std::move(found), begin, document, sink);
}

}  // namespace

void read_topology(const Document& document, Sink& sink) {
  read_amd_xgmi(document, sink);
  std::vector<std::string_view> lines;
  std::vector<bool> used;
  for (std::size_t at = 0; at < document.lines.size(); ++at) {
    lines.emplace_back(document.lines[at].text);
    used.push_back(sink.claimed(at));
  }
  for (PeerMatrix& matrix : read_peer_matrices(lines, used)) {
    for (PeerAccess& cell : matrix.cells) {
      cell.source = sink.source(matrix.first_line);
      sink.evidence().peer_access.push_back(std::move(cell));
    }
    sink.recognised("nvidia-smi topo -p2p");
  }
  add(read_amd_tables(lines, used), 0, document, sink);
  add(read_xgmi_counts(lines, used), 0, document, sink);
  add(read_nvidia_matrices(lines, used), 0, document, sink);
  for (std::size_t at = 0; at < used.size(); ++at) {
    if (used[at]) {
      sink.claim(at);
    }
  }
  read_json(document, sink);
}

}  // namespace shunt::logs
