// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "logs/topology/peer_matrix.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "logs/text.hpp"
#include "logs/topology/labels.hpp"
#include "logs/words.hpp"

namespace shunt::logs {
namespace {

constexpr std::array<std::string_view, 8> kStates{"OK", "CNS", "GNS", "TNS", "NS", "DR", "U", "X"};

bool is_state(std::string_view word) {
  return std::ranges::find(kStates, word) != kStates.end();
}

/// "GPU0 GPU1 …" and nothing else; empty if the line is no head.
std::vector<std::string> head_of(std::string_view line) {
  std::vector<std::string> labels;
  for (const std::string_view word : split_words(line)) {
    if (!gpu_index(word)) return {};
    labels.emplace_back(word);
  }
  return labels;
}

/// The cells of "GPU0 X OK GNS"; empty if the line is no such row.
std::vector<std::string_view> row_of(std::string_view line, std::size_t columns) {
  auto words = split_words(line);
  if (words.size() != columns + 1 || !gpu_index(words[0])) return {};
  words.erase(words.begin());
  return std::ranges::all_of(words, is_state) ? words : std::vector<std::string_view>{};
}

/// "GNS = GPU not supported" of the legend.
bool is_legend(std::string_view line) {
  const auto words = split_words(line);
  return words.size() >= 3 && is_state(words[0]) && words[1] == "=";
}

}  // namespace

std::vector<PeerMatrix> read_peer_matrices(const std::vector<std::string_view>& lines,
                                           std::vector<bool>& used) {
  std::vector<PeerMatrix> found;
  for (std::size_t at = 0; at < lines.size(); ++at) {
    if (used[at]) continue;
    const auto labels = head_of(lines[at]);
    if (labels.empty()) continue;
    PeerMatrix matrix;
    matrix.first_line = at;
    bool states = false;
    std::size_t next = at + 1;
    for (; next < lines.size() && next <= at + labels.size(); ++next) {
      const auto cells = row_of(lines[next], labels.size());
      if (cells.empty()) break;
      const std::string from(split_words(lines[next]).front());
      for (std::size_t c = 0; c < cells.size(); ++c) {
        if (cells[c] == "X" || labels[c] == from) continue;
        states = true;
        PeerAccess& cell = matrix.cells.emplace_back();
        cell.from = from;
        cell.to = labels[c];
        cell.status = std::string(cells[c]);
      }
    }
    // A head over link names (NV18, PIX) is the other matrix.
    if (!states) continue;
    matrix.last_line = next - 1;
    for (std::size_t line = at; line < next; ++line) used[line] = true;
    for (std::size_t line = next; line < lines.size() && line < next + 16; ++line) {
      if (!used[line] && is_legend(lines[line])) used[line] = true;
    }
    found.push_back(std::move(matrix));
  }
  return found;
}

}  // namespace shunt::logs
