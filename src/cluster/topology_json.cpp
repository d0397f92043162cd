// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <nlohmann/json.hpp>

#include "cluster/topology.hpp"

namespace shunt::cluster {
namespace {

nlohmann::ordered_json text_or_null(const std::string& text) {
  return text.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(text);
}

std::string stable_id(const Device& device) {
  if (!device.uuid.empty()) {
    return device.uuid;
  }
  return !device.bdf.empty() ? device.bdf : device.label;
}

nlohmann::ordered_json device_json(const Device& device) {
  nlohmann::ordered_json json;
  json["id"] = stable_id(device);
  json["kind"] = device.kind == DeviceKind::kGpu ? "gpu" : "nic";
  json["index"] = device.index;
  json["label"] = device.label;
  json["name"] = text_or_null(device.name);
  json["bdf"] = text_or_null(device.bdf);
  json["uuid"] = text_or_null(device.uuid);
  json["netdev"] = text_or_null(device.netdev);
  json["cpus"] = text_or_null(device.cpus);
  json["numa"] = text_or_null(device.numa);
  json["own_numa"] = text_or_null(device.own_numa);
  json["state"] = text_or_null(device.state);
  json["link_type"] = text_or_null(device.link_type);
  json["rating_bytes_per_s"] = device.rating_bytes_per_s > 0
                                   ? nlohmann::ordered_json(device.rating_bytes_per_s)
                                   : nlohmann::ordered_json(nullptr);
  return json;
}

}  // namespace

std::string to_json(const Topology& topology) {
  nlohmann::ordered_json json;
  json["schema"] = "shunt.topology/1";
  json["node"] = text_or_null(topology.node);
  json["source"] = text_or_null(topology.source);
  json["pcie_view"] = topology.pcie_view;
  json["devices"] = nlohmann::ordered_json::array();
  for (const Device& device : topology.devices) {
    json["devices"].push_back(device_json(device));
  }
  json["edges"] = nlohmann::ordered_json::array();
  for (std::size_t a = 0; a < topology.devices.size(); ++a) {
    for (std::size_t b = a + 1; b < topology.devices.size(); ++b) {
      const Path& path = topology.path(a, b);
      if (path.kind == PathKind::kUnknown) {
        continue;
      }
      nlohmann::ordered_json edge;
      edge["from"] = stable_id(topology.devices[a]);
      edge["to"] = stable_id(topology.devices[b]);
      edge["path"] = path.to_string();
      edge["kind"] = to_string(path.kind);
      edge["links"] =
          path.links > 0 ? nlohmann::ordered_json(path.links) : nlohmann::ordered_json(nullptr);
      json["edges"].push_back(std::move(edge));
    }
  }
  json["gaps"] = topology.gaps;
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace shunt::cluster
