// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Matrices of copy rates:
//   Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)      memcpy CE GPU(row) ->
//      D\D     0      1                                                  GPU(column) bandwidth
//      (GB/s)
//        0 742.86  48.35                                                        0         1
//        1  48.36 744.63                                                  0   N/A     26.34
// A title with a unit, a head of device numbers, a row a device. Matrices of latencies, access and
// distance in the same outputs are claimed and not used.
#include <algorithm>
#include <array>

#include "logs/readers.hpp"
#include "logs/text.hpp"

namespace shunt::logs {
namespace {

constexpr std::size_t kNone = std::string_view::npos;
constexpr std::size_t kMostDevices = 128;

/// "rank0", "GPU3", "r2", "4:" → the number; a word in front of numbers ("rank", "D\D") → empty.
std::string_view number_of(std::string_view word) {
  static constexpr std::array<std::string_view, 12> kWords{"D\\D",
                                                           "D/D",
                                                           "rank",
                                                           "ranks",
                                                           "GPU",
                                                           "CPU",
                                                           "P2P",
                                                           "dev",
                                                           "device",
                                                           "src\\dst",
                                                           "src/dst",
                                                           "r"};
  for (const std::string_view lead : kWords) {
    if (!starts_with_ci(word, lead)) continue;
    const std::string_view rest = word.substr(lead.size());
    if (rest.empty() || rest == ":" || rest == "|") return {};
    if (is_digit(rest[0])) word = rest;
  }
  while (!word.empty() && (word.back() == ':' || word.back() == '|')) word.remove_suffix(1);
  return word;
}

/// The words of a row or head, bars and words in front of numbers left out.
std::vector<std::string_view> fields_of(std::string_view text) {
  std::vector<std::string_view> fields;
  for (const std::string_view word : split_space(text)) {
    if (word == "|" || word == "->") continue;
    const std::string_view field = number_of(word);
    if (!field.empty()) fields.push_back(field);
  }
  return fields;
}

/// Consecutive device numbers from 0 behind an optional corner word: a head.
std::vector<int> head_of(std::string_view text) {
  const auto words = fields_of(text);
  std::vector<int> devices;
  for (const std::string_view word : words) {
    const auto number = whole_number(word);
    if (!number || number->decimals > 0 || number->value != static_cast<double>(devices.size()) ||
        devices.size() >= kMostDevices) {
      return {};
    }
    devices.push_back(static_cast<int>(devices.size()));
  }
  return devices.size() >= 2 ? devices : std::vector<int>{};
}

class Matrices {
 public:
  Matrices(const Document& document, Sink& sink) : document_(document), sink_(sink) {}

  void read() {
    for (std::size_t i = 0; i < document_.lines.size(); ++i) {
      const std::string_view text = document_.lines[i].text;
      if (sink_.claimed(i) || text.empty()) continue;
      take_side_line(i, text);
      if (names_a_matrix(text)) {
        title_ = i;
        titled_ = true;
        continue;
      }
      if (!titled_ || i > title_ + 6) continue;
      const auto head = head_of(text);
      if (!head.empty()) i = read_matrix(i, head);
    }
  }

 private:
  static bool names_a_matrix(std::string_view text) {
    const bool rate = contains_ci(text, "bandwidth") && contains_ci(text, "GB/s");
    return rate || (contains_ci(text, "latency") && contains_ci(text, "(us)")) ||
           contains_ci(text, "Inter-Device Access") ||
           contains_ci(text, "Inter-Device Numa Distance");
  }

  /// "Device: 0,  AMD EPYC …" names a host, "Device: 1, AMD Instinct …, GPU-…, 05:0.0" a GPU;
  /// "Device 0: NVIDIA A100 …"; "Running …", "SUM …".
  void take_side_line(std::size_t i, std::string_view text) {
    if (starts_with_ci(text, "Device: ")) {
      const auto number = number_at(text, 8);
      const auto index = number ? index_of(*number) : std::nullopt;
      if (!index) return;
      if (!contains_ci(text, "GPU-")) hosts_.push_back(*index);
      sink_.claim(i);
    } else if (starts_with_ci(text, "RocmBandwidthTest Version") ||
               starts_with_ci(text, "nvbandwidth Version") || starts_with_ci(text, "SUM ") ||
               starts_with_ci(text, "Launch Command is:") ||
               starts_with_ci(text, "Built from Git version")) {
      sink_.claim(i);
    }
  }

  /// Reads rows below the head at `at`; returns the last line used.
  std::size_t read_matrix(std::size_t at, const std::vector<int>& head) {
    RateMatrix matrix;
    matrix.source = sink_.source(title_);
    const std::string_view title = document_.lines[title_].text;
    matrix.title = std::string(trim(title));
    matrix.columns = head;
    matrix.hosts = hosts_;
    // "Bidirectional" holds "directional": the two words differ in their start only.
    matrix.bidirectional = contains_ci(title, "bidirectional") || contains_ci(title, "<->");
    matrix.peer_off = contains_ci(title, "P2P=Disabled");
    matrix.ranks = contains_ci(title, "rank") || contains_ci(document_.lines[at].text, "rank");
    matrix.host_rows = contains_ci(title, "CPU(row)");
    matrix.to_host = matrix.host_rows && contains_ci(title, "<-") && !matrix.bidirectional;
    std::size_t last = at;
    std::size_t gap = 0;
    for (std::size_t i = at + 1; i < document_.lines.size() && gap < 3; ++i) {
      const std::string_view text = document_.lines[i].text;
      if (text.empty() || text.find_first_not_of("-=+| ") == kNone) {
        ++gap;
        continue;
      }
      if (sink_.claimed(i) || !take_row(i, text, matrix)) break;
      gap = 0;
      last = i;
    }
    titled_ = false;
    if (matrix.rows.empty()) return at;
    sink_.claim(title_);
    sink_.claim(at);
    if (!contains_ci(title, "bandwidth")) return last;
    sink_.recognised(matrix.ranks ? "rates between ranks" : "copy rates between devices");
    sink_.evidence().rate_matrices.push_back(std::move(matrix));
    return last;
  }

  bool take_row(std::size_t i, std::string_view text, RateMatrix& matrix) {
    auto words = fields_of(text);
    if (words.empty()) return false;
    const auto number = whole_number(words[0]);
    auto device = number && number->decimals == 0 ? index_of(*number) : std::nullopt;
    // "rank 3:" in front of a row was taken for the prefix of a line.
    if (words.size() == matrix.columns.size() && document_.lines[i].rank) {
      device = document_.lines[i].rank;
      words.insert(words.begin(), std::string_view());
    }
    if (!device || *device != static_cast<int>(matrix.rows.size())) return false;
    std::vector<std::optional<double>> cells;
    for (std::size_t w = 1; w < words.size(); ++w) {
      const auto cell = whole_number(words[w]);
      // The diagonal may be a dash or an X.
      const bool none = equals_ci(words[w], "N/A") || words[w] == "-" || equals_ci(words[w], "X");
      if (!cell && !none) return false;
      cells.push_back(cell ? std::optional<double>(cell->value) : std::nullopt);
    }
    if (cells.size() != matrix.columns.size()) {
      sink_.truncated(i, "matrix row");
      return false;
    }
    matrix.rows.push_back(*device);
    matrix.cells.insert(matrix.cells.end(), cells.begin(), cells.end());
    sink_.claim(i);
    return true;
  }

  const Document& document_;
  Sink& sink_;
  std::size_t title_ = 0;
  bool titled_ = false;
  std::vector<int> hosts_;
};

}  // namespace

void read_rate_matrix(const Document& document, Sink& sink) {
  Matrices(document, sink).read();
}

}  // namespace shunt::logs
