// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "logs/topology/amd_tables.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "logs/text.hpp"
#include "logs/topology/labels.hpp"
#include "logs/words.hpp"

namespace shunt::logs {
namespace {

using cluster::DeviceKind;
using cluster::PathKind;
using cluster::Topology;

enum class Section { kNone, kWeight, kHops, kType, kBandwidth, kAccess, kNuma, kOther };

std::optional<Section> section_of(std::string_view line) {
  struct Title {
    std::string_view text;
    Section section;
  };
  static constexpr std::array<Title, 15> kTitles = {{
      {"weight between two gpus", Section::kWeight},
      {"weight table:", Section::kWeight},
      {"hops between two gpus", Section::kHops},
      {"hops table:", Section::kHops},
      {"link type between two gpus", Section::kType},
      {"link type table:", Section::kType},
      {"bandwidth between two gpus", Section::kBandwidth},
      {"numa bw table:", Section::kBandwidth},
      {"access between two gpus", Section::kAccess},
      {"accessibility between two gpus", Section::kAccess},
      {"access table:", Section::kAccess},
      {"numa nodes", Section::kNuma},
      {"coherency table:", Section::kOther},
      {"atomics table:", Section::kOther},
      {"directional table:", Section::kOther},
  }};
  for (const Title& title : kTitles) {
    if (contains_ci(line, title.text) && line.size() < 120) {
      return title.section;
    }
  }
  return contains_ci(line, "dma table:") ? std::optional(Section::kOther) : std::nullopt;
}

/// "0000:0c:00.0"
bool is_bdf(std::string_view word) {
  return word.size() == 12 && word[4] == ':' && word[7] == ':' && word[10] == '.' &&
         parse_hex(word.substr(0, 4)).has_value() && parse_hex(word.substr(5, 2)).has_value();
}

bool is_label(std::string_view word) {
  return gpu_index(word).has_value() || is_bdf(word);
}

/// "GPU[3]" → 3.
std::optional<int> bracketed_gpu(std::string_view word) {
  if (word.substr(0, 4) != "GPU[" || word.find(']') == std::string_view::npos) {
    return std::nullopt;
  }
  const auto value = parse_count(word.substr(4, word.find(']') - 4));
  return value && *value < 4096 ? std::optional(static_cast<int>(*value)) : std::nullopt;
}

class Reader {
 public:
  Reader(std::span<const std::string_view> lines, std::vector<bool>& used)
      : lines_(lines), used_(used) {}

  std::vector<Topology> run() {
    for (std::size_t index = 0; index < lines_.size(); ++index) {
      if (!used_[index]) {
        take(index);
      }
    }
    close();
    return std::move(found_);
  }

 private:
  void take(std::size_t index) {
    const std::string_view line = lines_[index];
    if (const auto section = section_of(line)) {
      if (seen_[static_cast<std::size_t>(*section)] && *section != Section::kOther) {
        close();
      }
      begin(*section, index);
      return;
    }
    if (section_ == Section::kNone) {
      return;
    }
    const std::vector<std::string_view> words = split_words(line);
    if (words.empty()) {
      return;
    }
    if (section_ == Section::kNuma) {
      take_numa(line, words, index);
    } else if (is_label(words[0])) {
      take_labelled(words, index);
    }
  }

  void begin(Section section, std::size_t index) {
    if (topology_.first_line == 0) {
      topology_.first_line = index + 1;
    }
    section_ = section;
    seen_[static_cast<std::size_t>(section)] = true;
    columns_.clear();
    use(index);
  }

  void use(std::size_t index) {
    used_[index] = true;
    topology_.last_line = index + 1;
  }

  void take_labelled(const std::vector<std::string_view>& words, std::size_t index) {
    if (std::all_of(words.begin(), words.end(), is_label)) {
      if (words.size() > 1 || columns_.empty()) {
        columns_.clear();
        for (const std::string_view word : words) {
          columns_.push_back(device(word));
        }
      }
      use(index);
      return;
    }
    const std::size_t row = device(words[0]);
    for (std::size_t column = 0; column < columns_.size() && column + 1 < words.size(); ++column) {
      apply(row, columns_[column], words[column + 1]);
    }
    if (words.size() - 1 < columns_.size()) {
      topology_.gaps.push_back(fmt::format(
          "line {} is cut after {} of {} cells", index + 1, words.size() - 1, columns_.size()));
    }
    use(index);
  }

  void apply(std::size_t row, std::size_t column, std::string_view word) {
    cluster::Path& cell = topology_.cell(row, column);
    if (row == column) {
      return;
    }
    const auto count = parse_count(word);
    if (section_ == Section::kWeight && count && *count < 1000000) {
      cell.weight = static_cast<int>(*count);
    } else if (section_ == Section::kHops && count && *count < 1000) {
      cell.hops = static_cast<int>(*count);
    } else if (section_ == Section::kType) {
      if (const auto path = cluster::parse_path(word)) {
        cell.kind = path->kind;
      }
    } else if (section_ == Section::kBandwidth) {
      const std::size_t dash = word.find('-');
      if (const auto most = parse_count(word.substr(dash + 1));
          most && dash != std::string_view::npos) {
        cell.gb_per_s = static_cast<double>(*most) / 1000.0;  // the tools print MB/s
      }
    }
  }

  void take_numa(std::string_view line,
                 const std::vector<std::string_view>& words,
                 std::size_t index) {
    const auto gpu = bracketed_gpu(words[0]);
    if (!gpu) {
      return;
    }
    use(index);
    const std::size_t at = device(fmt::format("GPU{}", *gpu));
    if (contains_ci(line, "numa node:") && parse_count(words.back())) {
      topology_.devices[at].numa = std::string(words.back());
    }
  }

  std::size_t device(std::string_view label) {
    if (const auto known = by_label_.find(std::string(label)); known != by_label_.end()) {
      return known->second;
    }
    cluster::Device added;
    added.kind = DeviceKind::kGpu;
    added.index = gpu_index(label).value_or(static_cast<int>(topology_.devices.size()));
    added.label = fmt::format("GPU{}", added.index);
    added.bdf = is_bdf(label) ? std::string(label) : std::string();
    const std::size_t at = topology_.add(std::move(added));
    by_label_[std::string(label)] = at;
    return at;
  }

  /// Where the type table is missing the weights tell: 15 is one xGMI hop, PCIe segments weigh 20.
  void infer_types() {
    if (seen_[static_cast<std::size_t>(Section::kType)] ||
        !seen_[static_cast<std::size_t>(Section::kWeight)]) {
      return;
    }
    for (cluster::Path& cell : topology_.cells) {
      if (cell.kind == PathKind::kUnknown && cell.weight > 0) {
        cell.kind = cell.weight == 15 ? PathKind::kXgmi : PathKind::kPcie;
      }
    }
    topology_.gaps.emplace_back("no link types: told from the weights");
  }

  void close() {
    if (!topology_.devices.empty()) {
      infer_types();
      topology_.source = by_label_.begin()->first.substr(0, 3) == "GPU" ? "rocm-smi --showtopo"
                                                                        : "amd-smi topology";
      found_.push_back(std::move(topology_));
    }
    topology_ = Topology{};
    by_label_.clear();
    columns_.clear();
    seen_.fill(false);
    section_ = Section::kNone;
  }

  std::span<const std::string_view> lines_;
  std::vector<bool>& used_;
  Section section_ = Section::kNone;
  std::array<bool, 8> seen_{};
  std::vector<std::size_t> columns_;
  std::map<std::string, std::size_t> by_label_;
  Topology topology_;
  std::vector<Topology> found_;
};

}  // namespace

std::vector<Topology> read_amd_tables(std::span<const std::string_view> lines,
                                      std::vector<bool>& used) {
  return Reader(lines, used).run();
}

}  // namespace shunt::logs
