// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "logs/topology/labels.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "logs/words.hpp"

namespace shunt::logs {
namespace {

bool digit(char c) {
  return c >= '0' && c <= '9';
}
bool name_char(char c) {
  return digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-' ||
         c == '.';
}

std::optional<int> index_after(std::string_view word, std::string_view prefix) {
  if (word.substr(0, prefix.size()) != prefix) {
    return std::nullopt;
  }
  const auto value = parse_count(word.substr(prefix.size()));
  if (!value || *value > 4096) {
    return std::nullopt;
  }
  return static_cast<int>(*value);
}

/// "GPU0GPU1" → GPU0, GPU1: labels glued where tabs were lost. Other words stay whole.
void append_labels(std::string_view word, std::vector<std::string>& labels) {
  std::size_t begin = 0;
  for (std::size_t at = 1; at < word.size(); ++at) {
    const std::string_view rest = word.substr(at, 3);
    if (digit(word[at - 1]) && (rest == "GPU" || rest == "NIC" || rest == "NPU" || rest == "mlx")) {
      labels.emplace_back(word.substr(begin, at - begin));
      begin = at;
    }
  }
  labels.emplace_back(word.substr(begin));
}

}  // namespace

std::optional<int> gpu_index(std::string_view word) {
  const auto gpu = index_after(word, "GPU");
  return gpu ? gpu : index_after(word, "NPU");
}

int trailing_index(std::string_view word) {
  std::size_t begin = word.size();
  while (begin > 0 && digit(word[begin - 1]) && word.size() - begin < 6) {
    --begin;
  }
  const auto value = parse_count(word.substr(begin));
  return value ? static_cast<int>(*value) : 0;
}

bool is_nic_label(std::string_view word) {
  return word.size() >= 3 && word.size() <= 40 && !digit(word.front()) && !gpu_index(word) &&
         std::all_of(word.begin(), word.end(), name_char) &&
         std::any_of(word.begin(), word.end(), digit) && !cluster::parse_path(word);
}

bool is_rdma_name(std::string_view word) {
  static constexpr std::array<std::string_view, 20> kPrefixes = {
      "mlx5_", "mlx4_",  "mlx5-", "bnxt_re", "bnxt-re", "irdma", "ionic_", "rdmap", "efa_", "hfi1_",
      "hns_",  "erdma_", "qedr",  "cxgb",    "siw",     "rxe",   "cxi",    "roce",  "ibp",  "opap"};
  return is_nic_label(word) &&
         std::any_of(kPrefixes.begin(), kPrefixes.end(), [word](std::string_view prefix) {
           return word.substr(0, prefix.size()) == prefix;
         });
}

cluster::Device device_of(std::string_view label) {
  cluster::Device device;
  const auto gpu = gpu_index(label);
  device.kind = gpu ? cluster::DeviceKind::kGpu : cluster::DeviceKind::kNic;
  device.index = gpu ? *gpu : trailing_index(label);
  device.label = std::string(label);
  if (!gpu && is_rdma_name(label)) {
    device.name = device.label;
  }
  return device;
}

std::vector<std::string> header_labels(std::string_view line) {
  std::vector<std::string> labels;
  for (std::string_view word : split_words(line, "|")) {
    const std::size_t glued = word.find("CPU");
    if (glued != std::string_view::npos) {
      word = word.substr(0, glued);
    }
    if (!word.empty()) {
      std::vector<std::string> parts;
      append_labels(word, parts);
      const bool first = labels.empty();
      const bool fits = std::all_of(parts.begin(), parts.end(), [first](const std::string& part) {
        return gpu_index(part).has_value() || (!first && is_nic_label(part));
      });
      if (!fits) {
        return labels.size() >= 2 ? labels : std::vector<std::string>{};
      }
      labels.insert(labels.end(), parts.begin(), parts.end());
    }
    if (glued != std::string_view::npos) {
      return labels;
    }
  }
  return labels;
}

}  // namespace shunt::logs
