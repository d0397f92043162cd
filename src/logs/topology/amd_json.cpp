// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "logs/topology/amd_tables.hpp"
#include "logs/words.hpp"

namespace shunt::logs {
namespace {

using cluster::PathKind;
using cluster::Topology;
using Json = nlohmann::json;

std::string text_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// A small whole number, also where the tool writes it as a string; −1 if absent.
int number_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) {
    return -1;
  }
  if (found->is_number_integer()) {
    const auto value = found->get<std::int64_t>();
    return value >= 0 && value < 1000000 ? static_cast<int>(value) : -1;
  }
  const auto value = found->is_string() ? parse_count(found->get<std::string>()) : std::nullopt;
  return value && *value < 1000000 ? static_cast<int>(*value) : -1;
}

cluster::Path path_of(const Json& link) {
  cluster::Path path = cluster::parse_path(text_of(link, "link_type")).value_or(cluster::Path{});
  path.weight = number_of(link, "weight");
  path.hops = number_of(link, "num_hops");
  const std::string bandwidth = text_of(link, "bandwidth");
  const std::size_t dash = bandwidth.find('-');
  if (dash != std::string::npos) {
    if (const auto most = parse_count(std::string_view(bandwidth).substr(dash + 1))) {
      path.gb_per_s = static_cast<double>(*most) / 1000.0;
    }
  }
  return path;
}

/// The array of GPUs, also where a newer tool wraps it in an object.
const Json* gpu_list(const Json& root) {
  if (root.is_array()) {
    return &root;
  }
  if (root.is_object()) {
    for (const auto& item : root.items()) {
      if (item.value().is_array() && !item.value().empty() && item.value()[0].is_object() &&
          item.value()[0].contains("links")) {
        return &item.value();
      }
    }
  }
  return nullptr;
}

/// Grows with the highest device that a key names; a damaged number names none.
std::size_t gpu_at(Topology& topology, int index) {
  while (topology.devices.size() <= static_cast<std::size_t>(index)) {
    cluster::Device device;
    device.index = static_cast<int>(topology.devices.size());
    device.label = fmt::format("GPU{}", device.index);
    topology.add(std::move(device));
  }
  return static_cast<std::size_t>(index);
}

/// "(Topology) Link type between DRM devices 0 and 3": "XGMI" of `rocm-smi --showtopo --json`.
void take_pair(const std::string& key, const std::string& value, Topology& topology) {
  constexpr int kMostGpus = 64;
  const std::vector<std::string_view> words = split_words(key);
  if (words.size() < 8 || words[0] != "(Topology)" || words[words.size() - 2] != "and") return;
  const auto a = small_count(words[words.size() - 3]);
  const auto b = small_count(words.back());
  if (!a || !b || *a == *b || *a >= kMostGpus || *b >= kMostGpus) return;
  const std::size_t from = gpu_at(topology, *a);
  const std::size_t to = gpu_at(topology, *b);
  // One key stands for both directions.
  for (cluster::Path* cell : {&topology.cell(from, to), &topology.cell(to, from)}) {
    const auto count = small_count(value);
    if (words[1] == "Weight" && count) {
      cell->weight = *count;
    } else if (words[1] == "Hops" && count) {
      cell->hops = *count;
    } else if (words[1] == "Link") {
      cell->kind = cluster::parse_path(value).value_or(cluster::Path{}).kind;
    }
  }
}

std::vector<Topology> read_rocm_json(const Json& root) {
  if (!root.is_object()) return {};
  Topology topology;
  topology.source = "rocm-smi --showtopo --json";
  for (const auto& part : root.items()) {
    if (!part.value().is_object()) continue;
    for (const auto& item : part.value().items()) {
      if (item.value().is_string())
        take_pair(item.key(), item.value().get<std::string>(), topology);
    }
  }
  for (const auto& part : root.items()) {
    const auto index =
        part.key().substr(0, 4) == "card" ? small_count(part.key().substr(4)) : std::nullopt;
    if (!index || static_cast<std::size_t>(*index) >= topology.devices.size()) continue;
    if (part.value().is_object()) {
      topology.devices[static_cast<std::size_t>(*index)].numa =
          text_of(part.value(), "(Topology) Numa Node");
    }
  }
  return topology.devices.empty() ? std::vector<Topology>{} : std::vector<Topology>{topology};
}

}  // namespace

std::vector<Topology> read_amd_json(const std::string& text) {
  const Json root = Json::parse(text, nullptr, false);
  const Json* list = root.is_discarded() ? nullptr : gpu_list(root);
  if (list == nullptr) {
    return root.is_discarded() ? std::vector<Topology>{} : read_rocm_json(root);
  }
  Topology topology;
  topology.source = "amd-smi topology --json";
  for (const Json& gpu : *list) {
    if (!gpu.is_object() || !gpu.contains("links") || number_of(gpu, "gpu") < 0) {
      return {};
    }
    cluster::Device device;
    device.index = number_of(gpu, "gpu");
    device.label = fmt::format("GPU{}", device.index);
    device.bdf = text_of(gpu, "bdf");
    topology.add(std::move(device));
  }
  for (const Json& gpu : *list) {
    const auto from = topology.find(fmt::format("GPU{}", number_of(gpu, "gpu")));
    for (const Json& link : gpu["links"]) {
      const auto to = link.is_object() ? topology.find(fmt::format("GPU{}", number_of(link, "gpu")))
                                       : std::nullopt;
      if (from && to && *from != *to) {
        topology.cell(*from, *to) = path_of(link);
      }
    }
  }
  return topology.devices.empty() ? std::vector<Topology>{} : std::vector<Topology>{topology};
}

}  // namespace shunt::logs
