// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "logs/topology/nvidia_draft.hpp"

#include "logs/text.hpp"
#include "logs/topology/labels.hpp"
#include "logs/words.hpp"

namespace shunt::logs {
namespace {

/// Host of a shell prompt "user@host:/path# command" or "[user@host dir]$", else nothing.
std::string prompt_host(std::string_view line) {
  const std::size_t at = line.find('@');
  if (at == std::string_view::npos || at == 0) {
    return {};
  }
  const std::size_t end = line.find_first_of(": ]#$~", at);
  return end == std::string_view::npos ? std::string()
                                       : std::string(line.substr(at + 1, end - at - 1));
}

/// "NODENODE", "SYSSYS", "NV12NV12": cells glued where a column overflowed. Empty for other words.
std::vector<cluster::Path> glued_paths(std::string_view word) {
  std::vector<cluster::Path> paths;
  while (!word.empty()) {
    std::size_t length = 0;
    for (const std::string_view name : {"NODE", "SYS", "PHB", "PXB", "PIX"}) {
      if (word.substr(0, name.size()) == name) length = name.size();
    }
    if (length == 0 && word.substr(0, 2) == "NV") {
      length = 2;
      while (length < word.size() && word[length] >= '0' && word[length] <= '9') ++length;
    }
    const auto path = length == 0 ? std::nullopt : cluster::parse_path(word.substr(0, length));
    if (!path) return {};
    paths.push_back(*path);
    word.remove_prefix(length);
  }
  return paths;
}

}  // namespace

bool is_device_label(std::string_view word) {
  return gpu_index(word) || is_nic_label(word);
}

std::optional<MatrixRow> parse_matrix_row(std::string_view line) {
  const std::vector<std::string_view> words = split_words(line, "|");
  if (words.size() < 2 || !is_device_label(words[0])) {
    return std::nullopt;
  }
  MatrixRow row;
  row.label = std::string(words[0]);
  std::size_t at = 1;
  for (; at < words.size(); ++at) {
    if (const auto path = cluster::parse_path(words[at])) {
      row.cells.push_back(*path);
      continue;
    }
    const auto glued = glued_paths(words[at]);
    if (glued.empty()) {
      break;
    }
    row.cells.insert(row.cells.end(), glued.begin(), glued.end());
  }
  for (; at < words.size(); ++at) {
    row.rest.emplace_back(words[at]);
  }
  const bool has_self =
      std::any_of(row.cells.begin(), row.cells.end(), [](const cluster::Path& cell) {
        return cell.kind == cluster::PathKind::kSelf;
      });
  // Prose may hold one path word after a name; a row holds its X, or several.
  if (row.cells.empty() || (row.cells.size() < 2 && !has_self)) {
    return std::nullopt;
  }
  // Past six words after the cells it is a sentence.
  return row.rest.size() > 6 ? std::nullopt : std::optional<MatrixRow>(std::move(row));
}

std::optional<std::pair<std::string, std::string>> parse_nic_legend(std::string_view line) {
  const std::vector<std::string_view> words = split_words(line, ":=");
  if (words.size() != 2 || words[0].substr(0, 3) != "NIC" || !parse_count(words[0].substr(3)) ||
      !is_nic_label(words[1])) {
    return std::nullopt;
  }
  return std::make_pair(std::string(words[0]), std::string(words[1]));
}

bool is_path_legend(std::string_view line) {
  const std::vector<std::string_view> words = split_words(line);
  return words.size() >= 3 && words[1] == "=" &&
         (cluster::parse_path(words[0]) || words[0] == "NV#");
}

void apply_caption(std::string_view line, MatrixDraft& draft) {
  line = trim(line);
  draft.pcie_view = draft.pcie_view || contains(line, "topo -mp");
  if (std::string host = prompt_host(line); !host.empty() && contains(line, "topo")) {
    draft.node = std::move(host);
    return;
  }
  while (!line.empty() && (line.front() == '#' || line.front() == '*' || line.front() == ' ')) {
    line.remove_prefix(1);
  }
  while (!line.empty() && (line.back() == ':' || line.back() == '*' || line.back() == ' ')) {
    line.remove_suffix(1);
  }
  const std::size_t on = line.rfind(" on ");
  if (on != std::string_view::npos && line.size() - on < 44) {
    draft.node = std::string(trim(line.substr(on + 4)));
  } else if (line.size() <= 40 &&
             (contains_ci(line, "node") || contains_ci(line, "server") ||
              contains_ci(line, "host") || contains_ci(line, "machine")) &&
             !contains(line, "nvidia-smi")) {
    draft.node = std::string(line);
  }
}

}  // namespace shunt::logs
