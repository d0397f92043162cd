// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "logs/topology/nvidia_matrix.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "logs/text.hpp"
#include "logs/topology/labels.hpp"
#include "logs/topology/nvidia_draft.hpp"
#include "logs/words.hpp"

namespace shunt::logs {
namespace {

using cluster::Topology;

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
    if (auto row = parse_matrix_row(clean)) {
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
    const bool row_cut_behind_its_label = draft_.last_line == index && is_device_label(clean);
    if (auto named = parse_nic_legend(clean)) {
      draft_.legend.insert(std::move(*named));
      used_[index] = true;
    } else if (row_cut_behind_its_label || is_path_legend(clean) || contains(clean, "NIC Legend") ||
               trim(clean) == "Legend:") {
      used_[index] = true;
    }
  }

  void take_header(std::vector<std::string> labels, std::string_view line, std::size_t index) {
    // "GPU0 GPU1 …" alone in prose: believe it only if a row follows soon.
    bool followed = false;
    for (std::size_t next = index + 1; next < lines_.size() && next < index + 4; ++next) {
      followed = followed || parse_matrix_row(lines_[next]).has_value();
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

  void take_row(MatrixRow row, std::size_t index) {
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
    MatrixRow& row = draft_.rows.back();
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
    draft_ = MatrixDraft{};
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
    const bool has_gpu =
        std::any_of(draft_.rows.begin(), draft_.rows.end(), [](const MatrixRow& row) {
          return gpu_index(row.label).has_value();
        });
    if (has_gpu) {
      found_.push_back(resolve_matrix(draft_));
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
  MatrixDraft draft_;
  bool open_ = false;
  std::vector<Topology> found_;
};

}  // namespace

std::vector<Topology> read_nvidia_matrices(std::span<const std::string_view> lines,
                                           std::vector<bool>& used) {
  return Reader(lines, used).run();
}

}  // namespace shunt::logs
