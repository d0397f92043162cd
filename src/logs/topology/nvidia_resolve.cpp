// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include <set>

#include <fmt/format.h>

#include "logs/topology/labels.hpp"
#include "logs/topology/nvidia_draft.hpp"

namespace shunt::logs {
namespace {

using cluster::Device;
using cluster::DeviceKind;
using cluster::PathKind;
using cluster::Topology;

/// Finds out what each column is. Diagonal X's outrank the header; without either, a column that
/// any row reaches by a GPU link is a GPU.
class Columns {
 public:
  explicit Columns(const MatrixDraft& draft) : draft_(draft), labels_(draft.header) {
    std::size_t width = 0;
    for (const MatrixRow& row : draft.rows) {
      width = std::max(width, row.cells.size());
    }
    labels_.resize(std::max(labels_.size(), width));
    apply_diagonal();
    fill();
  }

  [[nodiscard]] const std::vector<std::string>& labels() const { return labels_; }

 private:
  void apply_diagonal() {
    for (const MatrixRow& row : draft_.rows) {
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
    return std::any_of(draft_.rows.begin(), draft_.rows.end(), [column](const MatrixRow& row) {
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

  const MatrixDraft& draft_;
  std::vector<std::string> labels_;
};

std::string known(const std::string& word) {
  return word == "N/A" || word == "n/a" || word == "-" ? std::string() : word;
}

void apply_affinity(const MatrixRow& row, std::size_t expected, bool last_row, Topology& topology) {
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

void apply_cells(const MatrixRow& row,
                 const std::vector<std::string>& columns,
                 Topology& topology) {
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

void note_missing_rows(const MatrixDraft& draft, Topology& topology) {
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

}  // namespace

Topology resolve_matrix(const MatrixDraft& draft) {
  Topology topology;
  topology.node = draft.node;
  topology.source = "nvidia-smi topo -m";
  topology.pcie_view = draft.pcie_view;
  topology.first_line = draft.first_line;
  topology.last_line = draft.last_line;
  const std::vector<std::string> columns = Columns(draft).labels();
  std::vector<std::string> labels = columns;
  for (const MatrixRow& row : draft.rows) {
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
  for (const MatrixRow& row : draft.rows) {
    expected = draft.header.empty() ? std::max(expected, row.rest.size()) : expected;
  }
  for (const MatrixRow& row : draft.rows) {
    apply_cells(row, columns, topology);
    if (gpu_index(row.label) && row.cells.size() == columns.size()) {
      apply_affinity(row, expected, &row == &draft.rows.back(), topology);
    }
  }
  note_missing_rows(draft, topology);
  return topology;
}

}  // namespace shunt::logs
