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
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "logs/reader.hpp"
#include "logs/text.hpp"
#include "logs/topology/amd_tables.hpp"
#include "logs/topology/labels.hpp"
#include "logs/words.hpp"

namespace shunt::logs {
namespace {

using cluster::PathKind;
using cluster::Topology;

constexpr std::size_t kMostGpus = 64;

enum class TableKind { kNone, kMetric, kState };

using Json = nlohmann::json;

/// 2 "KB", 39.61 "TB"; decimal, as amd-smi names its units.
std::optional<double> bytes_of(double value, std::string_view name) {
  static constexpr std::array<std::string_view, 6> kUnits{"B", "KB", "MB", "GB", "TB", "PB"};
  const auto unit = std::ranges::find(kUnits, name);
  if (!(value >= 0) || unit == kUnits.end()) return std::nullopt;
  const double bytes = value * std::pow(1000.0, static_cast<double>(unit - kUnits.begin()));
  return bytes < 1e19 ? std::optional(bytes) : std::nullopt;
}

/// "2 KB" from word `at` on.
std::optional<double> bytes_at(const std::vector<std::string_view>& words, std::size_t at) {
  const auto number = at + 1 < words.size() ? whole_number(words[at]) : std::nullopt;
  return number ? bytes_of(number->value, words[at + 1]) : std::nullopt;
}

/// {"value": 2, "unit": "KB"}; other shapes ("N/A") are none.
std::optional<std::pair<double, std::string>> quantity(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_object()) return std::nullopt;
  const auto value = found->find("value");
  const auto unit = found->find("unit");
  if (value == found->end() || !value->is_number() || unit == found->end() || !unit->is_string()) {
    return std::nullopt;
  }
  return std::pair{value->get<double>(), unit->get<std::string>()};
}

/// A plausible rate of one link, Gb/s → GB/s.
std::optional<double> plausible_rate(double gbit) {
  return gbit > 0 && gbit <= 10000 ? std::optional(gbit / 8) : std::nullopt;
}

/// A GPU's rate out of "32 Gb/s  512 Gb/s XGMI": the second, of all lanes of a link, in GB/s. What
/// the tool prints for "not supported" (all bits set) is none.
std::optional<double> link_rate(std::string_view line) {
  const std::size_t first = line.find("Gb/s");
  if (first == std::string_view::npos) return std::nullopt;
  const auto rate = number_before(line, "Gb/s", first + 4);
  return rate ? plausible_rate(rate->value) : std::nullopt;
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

  /// `amd-smi xgmi --json`, lines [begin, end). False if the list is not that.
  bool run_json(const Json& list, std::size_t begin, std::size_t end) {
    for (const Json& object : list) {
      const auto metrics = object.is_object() ? object.find("link_metrics") : object.end();
      const auto index = object.is_object() ? object.find("gpu") : object.end();
      if (metrics == object.end() || !metrics->is_object() || index == object.end() ||
          !index->is_number_unsigned() || index->get<std::uint64_t>() >= 4096) {
        return false;
      }
      take_json(*metrics, object, static_cast<int>(index->get<std::uint64_t>()), begin);
    }
    kind_ = TableKind::kMetric;
    first_ = begin;
    last_ = end - 1;
    const bool several = gpus_.size() >= 2;
    close();
    return several;
  }

 private:
  void take_json(const Json& metrics, const Json& object, int index, std::size_t line) {
    if (gpus_.size() >= kMostGpus) return;
    Gpu gpu;
    gpu.index = index;
    gpu.bdf = object.value("bdf", Json("")).is_string() ? object.value("bdf", "") : "";
    gpu.line = line;
    const auto rate = quantity(metrics, "max_bandwidth");
    if (rate && rate->second == "Gb/s") gpu.gb_per_s = plausible_rate(rate->first);
    const auto type = metrics.find("link_type");
    gpu.xgmi = type != metrics.end() && type->is_string() && type->get<std::string>() == "XGMI";
    const auto links = metrics.find("links");
    if (links != metrics.end() && links->is_array()) {
      for (const Json& link : *links) {
        if (!link.is_object() || gpu.read.size() >= kMostGpus) continue;
        const auto read = quantity(link, "read");
        const auto written = quantity(link, "write");
        gpu.read.push_back(read ? bytes_of(read->first, read->second) : std::nullopt);
        gpu.written.push_back(written ? bytes_of(written->first, written->second) : std::nullopt);
      }
    }
    gpus_.push_back(std::move(gpu));
  }

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
    if (kind_ == TableKind::kMetric && (words[0] == "Read" || words[0] == "Write")) {
      take_bytes(words, at);
    } else if (const auto gpu = gpu_index(words[0]); gpu && words.size() >= 2) {
      take_gpu(*gpu, line, words, at);
    } else if (words[0] == "bdf" || words[0].front() == '*') {
      use(at);  // "* U:Up D:Down" is the legend.
    } else {
      close();
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
    if (gpus_.size() >= kMostGpus) return;
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

bool read_amd_xgmi_json(const std::string& text,
                        std::size_t begin,
                        std::size_t end,
                        const Document& document,
                        Sink& sink) {
  Json root = Json::parse(text, nullptr, false);
  // Newer tools put the list under a name.
  if (root.is_object() && root.size() == 1 && root.begin()->is_array()) root = Json(*root.begin());
  return root.is_array() && !root.empty() && XgmiReader(document, sink).run_json(root, begin, end);
}

}  // namespace shunt::logs
