// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "logs/topology/nvidia_matrix.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "logs/text.hpp"
#include "logs/topology/labels.hpp"
#include "logs/words.hpp"

namespace shunt::logs {
namespace {

using cluster::Device;
using cluster::DeviceKind;
using cluster::PathKind;
using cluster::Topology;

struct Row {
  std::string label;
  std::vector<cluster::Path> cells;
  std::vector<std::string> rest;  ///< Words after the cells: affinities.
  std::size_t line = 0;
};

/// One matrix as it stands in the paste, before columns are resolved.
struct Draft {
  std::vector<std::string> header;
  std::size_t affinity_columns = 0;  ///< That the header announces; 0 without a header.
  std::vector<Row> rows;
  std::map<std::string, std::string> legend;  ///< NIC label → RDMA device.
  std::string node;
  bool pcie_view = false;
  std::size_t first_line = 0;
  std::size_t last_line = 0;

  [[nodiscard]] bool has_row(const std::string& label) const {
    return std::any_of(
        rows.begin(), rows.end(), [&label](const Row& row) { return row.label == label; });
  }
};

bool device_label(std::string_view word) {
  return gpu_index(word) || is_nic_label(word);
}

std::optional<Row> parse_row(std::string_view line) {
  const std::vector<std::string_view> words = split_words(line, "|");
  if (words.size() < 2 || !device_label(words[0])) {
    return std::nullopt;
  }
  Row row;
  row.label = std::string(words[0]);
  std::size_t at = 1;
  for (; at < words.size(); ++at) {
    const auto path = cluster::parse_path(words[at]);
    if (!path) {
      break;
    }
    row.cells.push_back(*path);
  }
  for (; at < words.size(); ++at) {
    row.rest.emplace_back(words[at]);
  }
  const bool has_self =
      std::any_of(row.cells.begin(), row.cells.end(), [](const cluster::Path& cell) {
        return cell.kind == PathKind::kSelf;
      });
  // Prose may hold one path word after a name; a row holds its X, or several.
  if (row.cells.empty() || (row.cells.size() < 2 && !has_self)) {
    return std::nullopt;
  }
  // Past six words after the cells it is a sentence.
  return row.rest.size() > 6 ? std::nullopt : std::optional<Row>(std::move(row));
}

/// "NIC0: mlx5_0" of the NIC legend; also "NIC0 = mlx5_0".
std::optional<std::pair<std::string, std::string>> parse_legend(std::string_view line) {
  const std::vector<std::string_view> words = split_words(line, ":=");
  if (words.size() != 2 || words[0].substr(0, 3) != "NIC" || !parse_count(words[0].substr(3)) ||
      !is_nic_label(words[1])) {
    return std::nullopt;
  }
  return std::make_pair(std::string(words[0]), std::string(words[1]));
}

/// "  PIX  = Connection traversing at most a single PCIe bridge".
bool is_path_legend(std::string_view line) {
  const std::vector<std::string_view> words = split_words(line);
  return words.size() >= 3 && words[1] == "=" &&
         (cluster::parse_path(words[0]) || words[0] == "NV#");
}

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

/// The name that the text before a matrix gives it: a prompt's host, or "… on server 1:".
void apply_caption(std::string_view line, Draft& draft) {
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

/// Finds out what each column is. Diagonal X's outrank the header; without either, a column that
/// any row reaches by a GPU link is a GPU.
class Columns {
 public:
  explicit Columns(const Draft& draft) : draft_(draft), labels_(draft.header) {
    std::size_t width = 0;
    for (const Row& row : draft.rows) {
      width = std::max(width, row.cells.size());
    }
    labels_.resize(std::max(labels_.size(), width));
    apply_diagonal();
    fill();
  }

  [[nodiscard]] const std::vector<std::string>& labels() const { return labels_; }

 private:
  void apply_diagonal() {
    for (const Row& row : draft_.rows) {
      for (std::size_t column = 0; column < row.cells.size(); ++column) {
        if (row.cells[column].kind != PathKind::kSelf || labels_[column] == row.label) {
          continue;
        }
        std::replace(labels_.begin(), labels_.end(), row.label, std::string());
        labels_[column] = row.label;
      }
    }
  }

  [[nodiscard]] bool reached_by_link(std::size_t column) const {
    return std::any_of(draft_.rows.begin(), draft_.rows.end(), [column](const Row& row) {
      return column < row.cells.size() && cluster::is_gpu_link(row.cells[column].kind);
    });
  }

  void fill() {
    std::size_t last_gpu = 0;
    for (std::size_t column = 0; column < labels_.size(); ++column) {
      if (gpu_index(labels_[column]) || (labels_[column].empty() && reached_by_link(column))) {
        last_gpu = column;
      }
    }
    std::set<std::string> taken(labels_.begin(), labels_.end());
    int next_gpu = 0;
    int next_nic = 0;
    for (std::size_t column = 0; column < labels_.size(); ++column) {
      if (!labels_[column].empty()) {
        continue;
      }
      int& next = column <= last_gpu ? next_gpu : next_nic;
      std::string label;
      do {
        label = fmt::format("{}{}", column <= last_gpu ? "GPU" : "NIC", next++);
      } while (!taken.insert(label).second);
      labels_[column] = std::move(label);
    }
  }

  const Draft& draft_;
  std::vector<std::string> labels_;
};

std::string known(const std::string& word) {
  return word == "N/A" || word == "n/a" || word == "-" ? std::string() : word;
}

void apply_affinity(const Row& row, std::size_t expected, bool last_row, Topology& topology) {
  const auto found = topology.find(row.label);
  if (!found || row.rest.empty()) {
    return;
  }
  Device& device = topology.devices[*found];
  std::vector<std::string> words = row.rest;
  if (words.size() < expected && last_row) {
    // The paste ends inside this row: its last word may be a piece of a longer one.
    topology.gaps.push_back(fmt::format("the affinity columns of row {} are cut", row.label));
    words.pop_back();
  }
  if (words.size() >= 2 || expected <= 1) {
    device.cpus = words.empty() ? std::string() : known(words[0]);
    device.numa = words.size() >= 2 ? known(words[1]) : std::string();
    device.own_numa = words.size() >= 3 ? known(words[2]) : std::string();
  } else if (words.size() == 1) {
    const bool is_cpus = words[0].find_first_of("-,") != std::string::npos;
    (is_cpus ? device.cpus : device.numa) = known(words[0]);
  }
}

void apply_cells(const Row& row, const std::vector<std::string>& columns, Topology& topology) {
  const auto from = topology.find(row.label);
  if (!from) {
    return;
  }
  std::size_t count = row.cells.size();
  if (count < columns.size()) {
    // "NV1" at a cut end may be the start of "NV18"; the other words cannot be longer.
    if (row.rest.empty() && row.cells.back().kind == PathKind::kNvlink) {
      --count;
    }
    topology.gaps.push_back(
        fmt::format("row {} is cut after {} of {} cells", row.label, count, columns.size()));
  }
  for (std::size_t column = 0; column < count; ++column) {
    if (const auto to = topology.find(columns[column])) {
      topology.cell(*from, *to) = row.cells[column];
    }
  }
}

void note_missing_rows(const Draft& draft, Topology& topology) {
  std::string missing;
  std::size_t missing_nics = 0;
  std::size_t nics = 0;
  for (const Device& device : topology.devices) {
    const bool absent = !draft.has_row(device.label);
    if (device.kind == DeviceKind::kGpu && absent) {
      missing += (missing.empty() ? "" : ", ") + device.label;
    }
    nics += device.kind == DeviceKind::kNic ? 1 : 0;
    missing_nics += device.kind == DeviceKind::kNic && absent ? 1 : 0;
  }
  if (!missing.empty()) {
    topology.gaps.push_back(fmt::format("no row for {}", missing));
  }
  if (missing_nics > 0) {
    topology.gaps.push_back(fmt::format("no row for {} of {} NICs", missing_nics, nics));
  }
  if (draft.header.empty()) {
    topology.gaps.push_back("the header is missing: columns follow from the diagonal");
  }
}

Topology resolve(const Draft& draft) {
  Topology topology;
  topology.node = draft.node;
  topology.source = "nvidia-smi topo -m";
  topology.pcie_view = draft.pcie_view;
  topology.first_line = draft.first_line;
  topology.last_line = draft.last_line;
  const std::vector<std::string> columns = Columns(draft).labels();
  std::vector<std::string> labels = columns;
  for (const Row& row : draft.rows) {
    if (std::find(labels.begin(), labels.end(), row.label) == labels.end()) {
      labels.push_back(row.label);
    }
  }
  std::stable_partition(labels.begin(), labels.end(), [](const std::string& label) {
    return gpu_index(label).has_value();
  });
  for (const std::string& label : labels) {
    Device device = device_of(label);
    if (const auto named = draft.legend.find(label); named != draft.legend.end()) {
      device.name = named->second;
    }
    topology.add(std::move(device));
  }
  std::size_t expected = draft.affinity_columns;
  for (const Row& row : draft.rows) {
    expected = draft.header.empty() ? std::max(expected, row.rest.size()) : expected;
  }
  for (const Row& row : draft.rows) {
    apply_cells(row, columns, topology);
    if (gpu_index(row.label) && row.cells.size() == columns.size()) {
      apply_affinity(row, expected, &row == &draft.rows.back(), topology);
    }
  }
  note_missing_rows(draft, topology);
  return topology;
}

class Reader {
 public:
  Reader(std::span<const std::string_view> lines, std::vector<bool>& used)
      : lines_(lines), used_(used) {}

  std::vector<Topology> run() {
    for (std::size_t index = 0; index < lines_.size(); ++index) {
      take(index);
    }
    close();
    return std::move(found_);
  }

 private:
  void take(std::size_t index) {
    if (used_[index]) {
      return;
    }
    const std::string_view clean = lines_[index];
    if (auto row = parse_row(clean)) {
      take_row(std::move(*row), index);
      return;
    }
    if (take_continuation(clean, index)) {
      return;
    }
    if (std::vector<std::string> labels = header_labels(clean); !labels.empty()) {
      take_header(std::move(labels), clean, index);
      return;
    }
    if (!open_) {
      return;
    }
    if (draft_.last_line == index && device_label(clean)) {
      used_[index] = true;  // a row cut right after its label
    } else if (auto named = parse_legend(clean)) {
      draft_.legend.insert(std::move(*named));
      used_[index] = true;
    } else if (is_path_legend(clean) || contains(clean, "NIC Legend") || trim(clean) == "Legend:") {
      used_[index] = true;
    }
  }

  void take_header(std::vector<std::string> labels, std::string_view line, std::size_t index) {
    // "GPU0 GPU1 …" alone in prose: believe it only if a row follows soon.
    bool followed = false;
    for (std::size_t next = index + 1; next < lines_.size() && next < index + 4; ++next) {
      followed = followed || parse_row(lines_[next]).has_value();
    }
    if (!followed) {
      return;
    }
    open(index);
    draft_.header = std::move(labels);
    draft_.affinity_columns = (contains(line, "CPU Affinity") ? 1U : 0U) +
                              (contains(line, "NUMA Affinity") ? 1U : 0U) +
                              (contains(line, "GPU NUMA ID") ? 1U : 0U);
    used_[index] = true;
  }

  void take_row(Row row, std::size_t index) {
    if (!open_ || draft_.has_row(row.label)) {
      open(index);
    }
    row.line = index + 1;
    draft_.rows.push_back(std::move(row));
    draft_.last_line = index + 1;
    used_[index] = true;
    pending_.push_back(index);
  }

  /// The rest of a row that the terminal wrapped at a blank.
  bool take_continuation(std::string_view line, std::size_t index) {
    if (!open_ || draft_.rows.empty() || draft_.last_line != index ||
        draft_.rows.back().cells.size() >= draft_.header.size() ||
        !draft_.rows.back().rest.empty()) {
      return false;
    }
    const std::vector<std::string_view> words = split_words(line, "|");
    if (words.empty() || !cluster::parse_path(words[0])) {
      return false;
    }
    Row& row = draft_.rows.back();
    for (const std::string_view word : words) {
      const auto path = row.rest.empty() ? cluster::parse_path(word) : std::nullopt;
      if (path) {
        row.cells.push_back(*path);
      } else {
        row.rest.emplace_back(word);
      }
    }
    draft_.last_line = index + 1;
    used_[index] = true;
    return true;
  }

  void open(std::size_t index) {
    close();
    open_ = true;
    draft_ = Draft{};
    draft_.first_line = index + 1;
    for (std::size_t back = 1; back <= 3 && back <= index && draft_.node.empty(); ++back) {
      const std::size_t before = index - back;
      if (!used_[before]) {
        apply_caption(lines_[before], draft_);
      }
    }
  }

  void close() {
    if (!open_) {
      return;
    }
    open_ = false;
    const bool has_gpu = std::any_of(draft_.rows.begin(), draft_.rows.end(), [](const Row& row) {
      return gpu_index(row.label).has_value();
    });
    if (has_gpu) {
      found_.push_back(resolve(draft_));
    } else {
      for (const std::size_t index : pending_) {
        used_[index] = false;
      }
    }
    pending_.clear();
  }

  std::span<const std::string_view> lines_;
  std::vector<bool>& used_;
  std::vector<std::size_t> pending_;
  Draft draft_;
  bool open_ = false;
  std::vector<Topology> found_;
};

}  // namespace

std::vector<Topology> read_nvidia_matrices(std::span<const std::string_view> lines,
                                           std::vector<bool>& used) {
  return Reader(lines, used).run();
}

}  // namespace shunt::logs
