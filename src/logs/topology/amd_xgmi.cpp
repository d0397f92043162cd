// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// `amd-smi xgmi`: the metric table (rate, and bytes read and written per peer since the driver
// started) and the table of link states. Both are matrices between GPUs; the bytes are counters.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "logs/reader.hpp"
#include "logs/text.hpp"
#include "logs/topology/amd_tables.hpp"
#include "logs/topology/labels.hpp"
#include "logs/words.hpp"

namespace shunt::logs {
namespace {

using cluster::PathKind;
using cluster::Topology;

enum class TableKind { kNone, kMetric, kState };

/// "2 KB", "39.61 TB" from word `at` on; decimal, as amd-smi names its units.
std::optional<double> bytes_at(const std::vector<std::string_view>& words, std::size_t at) {
  static constexpr std::array<std::string_view, 6> kUnits{"B", "KB", "MB", "GB", "TB", "PB"};
  if (at + 1 >= words.size()) return std::nullopt;
  const auto number = whole_number(words[at]);
  const auto unit = std::ranges::find(kUnits, words[at + 1]);
  if (!number || number->value < 0 || unit == kUnits.end()) return std::nullopt;
  const double bytes = number->value * std::pow(1000.0, static_cast<double>(unit - kUnits.begin()));
  return bytes < 1e19 ? std::optional(bytes) : std::nullopt;
}

/// A GPU's rate out of "32 Gb/s  512 Gb/s XGMI": the second, of all lanes of a link, in GB/s. What
/// the tool prints for "not supported" (all bits set) is none.
std::optional<double> link_rate(std::string_view line) {
  const std::size_t first = line.find("Gb/s");
  if (first == std::string_view::npos) return std::nullopt;
  const auto rate = number_before(line, "Gb/s", first + 4);
  if (!rate || rate->value <= 0 || rate->value > 10000) return std::nullopt;
  return rate->value / 8;
}

class XgmiReader {
 public:
  XgmiReader(const Document& document, Sink& sink) : document_(document), sink_(sink) {}

  void run() {
    for (std::size_t at = 0; at < document_.lines.size(); ++at) {
      if (!sink_.claimed(at)) take(at);
    }
    close();
  }

 private:
  void take(std::size_t at) {
    const std::string_view line = document_.lines[at].text;
    if (contains_ci(line, "link metric table")) {
      begin(TableKind::kMetric, at);
    } else if (contains_ci(line, "xgmi link status")) {
      begin(TableKind::kState, at);
    } else if (kind_ != TableKind::kNone) {
      take_row(line, at);
    }
  }

  void begin(TableKind kind, std::size_t at) {
    close();
    kind_ = kind;
    first_ = last_ = at;
    sink_.claim(at);
  }

  void take_row(std::string_view line, std::size_t at) {
    const auto words = split_words(line);
    if (words.empty()) return;
    if (words[0] == "bdf") {
      use(at);
    } else if (kind_ == TableKind::kMetric && (words[0] == "Read" || words[0] == "Write")) {
      take_bytes(words, at);
    } else if (const auto gpu = gpu_index(words[0]); gpu && words.size() >= 2) {
      take_gpu(*gpu, line, words, at);
    } else if (words[0].front() != '*') {
      close();  // "* U:Up D:Down" is the legend; anything else ends the table.
    } else {
      use(at);
    }
  }

  void use(std::size_t at) {
    sink_.claim(at);
    last_ = at;
  }

  void take_gpu(int index,
                std::string_view line,
                const std::vector<std::string_view>& words,
                std::size_t at) {
    if (gpus_.size() >= 64) return;
    Gpu gpu;
    gpu.index = index;
    gpu.bdf = std::string(words[1]);
    gpu.line = at;
    if (kind_ == TableKind::kMetric) {
      gpu.gb_per_s = link_rate(line);
      gpu.xgmi = contains(line, "XGMI");
    } else {
      for (std::size_t word = 2; word < words.size(); ++word) {
        gpu.states.emplace_back(words[word]);
      }
    }
    gpus_.push_back(std::move(gpu));
    use(at);
  }

  void take_bytes(const std::vector<std::string_view>& words, std::size_t at) {
    if (gpus_.empty()) return;
    std::vector<std::optional<double>> cells;
    for (std::size_t word = 1; word < words.size();) {
      const auto bytes = bytes_at(words, word);
      cells.push_back(bytes);
      word += bytes ? 2 : 1;
    }
    (words[0] == "Read" ? gpus_.back().read : gpus_.back().written) = std::move(cells);
    use(at);
  }

  struct Gpu {
    int index = 0;
    std::string bdf;
    std::size_t line = 0;
    std::optional<double> gb_per_s;
    bool xgmi = false;
    std::vector<std::optional<double>> read;  ///< By column; absent: no link.
    std::vector<std::optional<double>> written;
    std::vector<std::string> states;  ///< "SELF", "U", "D", "X", "N/A".
  };

  [[nodiscard]] cluster::Path path(const Gpu& gpu, std::size_t column) const {
    cluster::Path path;
    if (kind_ == TableKind::kState) {
      const std::string state = column < gpu.states.size() ? gpu.states[column] : std::string();
      // "N/A" is also what a virtual machine may see of links that work.
      path.kind = state == "U"                   ? PathKind::kXgmi
                  : state == "D" || state == "X" ? PathKind::kNoLink
                                                 : PathKind::kUnknown;
      return path;
    }
    if (!gpu.xgmi || column >= gpu.read.size()) return path;
    path.kind = gpu.read[column] ? PathKind::kXgmi : PathKind::kNoLink;
    if (gpu.read[column]) path.gb_per_s = gpu.gb_per_s.value_or(0);
    return path;
  }

  void add_topology() {
    TopologyFact fact;
    fact.tool = "amd-smi xgmi";
    fact.source = sink_.source(first_);
    Topology& topology = fact.topology;
    topology.source = fact.tool;
    topology.first_line = document_.lines[first_].number;
    topology.last_line = document_.lines[last_].number;
    for (const Gpu& gpu : gpus_) {
      cluster::Device device;
      device.index = gpu.index;
      device.label = fmt::format("GPU{}", gpu.index);
      device.bdf = gpu.bdf;
      topology.add(std::move(device));
    }
    bool known = false;
    for (std::size_t row = 0; row < gpus_.size(); ++row) {
      for (std::size_t column = 0; column < gpus_.size(); ++column) {
        if (row == column) continue;
        topology.cell(row, column) = path(gpus_[row], column);
        known = known || topology.cell(row, column).kind != PathKind::kUnknown;
      }
    }
    if (!known) topology.gaps.emplace_back("no link state: the tool printed N/A");
    sink_.evidence().topologies.push_back(std::move(fact));
  }

  void add_counters() {
    for (const Gpu& gpu : gpus_) {
      CounterFact fact;
      fact.source = sink_.source(gpu.line);
      fact.tool = "amd-smi xgmi";
      fact.device = fmt::format("GPU{}", gpu.index);
      for (const auto* cells : {&gpu.read, &gpu.written}) {
        for (std::size_t column = 0; column < cells->size(); ++column) {
          if (!(*cells)[column]) continue;
          fact.values.push_back(
              {fmt::format("{}_gpu{}", cells == &gpu.read ? "xgmi_read" : "xgmi_write", column),
               static_cast<std::uint64_t>(*(*cells)[column]),
               document_.lines[gpu.line].number});
        }
      }
      if (!fact.values.empty()) sink_.evidence().counters.push_back(std::move(fact));
    }
  }

  void close() {
    if (kind_ != TableKind::kNone && gpus_.size() >= 2) {
      sink_.recognised("amd-smi xgmi");
      add_topology();
      add_counters();
    }
    gpus_.clear();
    kind_ = TableKind::kNone;
  }

  const Document& document_;
  Sink& sink_;
  TableKind kind_ = TableKind::kNone;
  std::size_t first_ = 0;
  std::size_t last_ = 0;
  std::vector<Gpu> gpus_;
};

}  // namespace

void read_amd_xgmi(const Document& document, Sink& sink) {
  XgmiReader(document, sink).run();
}

}  // namespace shunt::logs
