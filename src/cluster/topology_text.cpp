// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/units.hpp"
#include "cluster/topology.hpp"

namespace shunt::cluster {
namespace {

using Row = std::vector<std::string>;

bool is_marked(const std::vector<Mark>& marks, std::size_t row, std::size_t column) {
  return std::any_of(marks.begin(), marks.end(), [&](const Mark& mark) {
    return mark.row == row && mark.column == column;
  });
}

std::string or_dash(const std::string& text) {
  return text.empty() ? "-" : text;
}

Row header_of(const Topology& topology) {
  Row header = {""};
  for (const Device& device : topology.devices) {
    header.push_back(device.label);
  }
  header.push_back("CPUs");
  header.push_back("NUMA");
  return header;
}

Row row_of(const Topology& topology, std::size_t row, const std::vector<Mark>& marks) {
  const Device& device = topology.devices[row];
  Row cells = {device.label};
  for (std::size_t column = 0; column < topology.devices.size(); ++column) {
    cells.push_back(topology.path(row, column).to_string() +
                    (is_marked(marks, row, column) ? "!" : ""));
  }
  cells.push_back(or_dash(device.cpus));
  cells.push_back(or_dash(device.numa));
  return cells;
}

/// A NIC's row repeats the NIC columns of the GPUs; it is worth printing for its paths to NICs.
bool is_worth_a_row(const Topology& topology, std::size_t row) {
  const DeviceKind kind = topology.devices[row].kind;
  for (std::size_t other = 0; other < topology.devices.size(); ++other) {
    const bool counts =
        kind == DeviceKind::kGpu || topology.devices[other].kind == DeviceKind::kNic;
    if (other != row && counts && topology.cell(row, other).kind != PathKind::kUnknown) {
      return true;
    }
  }
  return kind == DeviceKind::kGpu && topology.devices.size() == 1;
}

std::string aligned(const std::vector<Row>& rows) {
  std::vector<std::size_t> widths;
  for (const Row& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t column = 0; column < row.size(); ++column) {
      widths[column] = std::max(widths[column], row[column].size());
    }
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t column = 0; column < row.size(); ++column) {
      line += fmt::format("{:<{}}  ", row[column], widths[column]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string describe(const Device& device) {
  std::string text = fmt::format("{}: {}", device.label, or_dash(device.name));
  const auto append = [&text](const std::string& part) {
    if (!part.empty()) {
      text += ", " + part;
    }
  };
  append(device.bdf);
  append(device.netdev);
  append(device.link_type);
  if (device.rating_bytes_per_s > 0) {
    append(format_rating(device.rating_bytes_per_s));
  }
  append(device.state);
  return text;
}

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

std::string to_text(const Topology& topology, const std::vector<Mark>& marks) {
  std::vector<Row> rows = {header_of(topology)};
  for (std::size_t row = 0; row < topology.devices.size(); ++row) {
    if (is_worth_a_row(topology, row)) {
      rows.push_back(row_of(topology, row, marks));
    }
  }
  std::string text = aligned(rows);
  std::string legend;
  for (const Device& device : topology.devices) {
    if (!device.name.empty() || !device.bdf.empty()) {
      legend += "  " + describe(device) + "\n";
    }
  }
  if (!legend.empty()) {
    text += "\n" + legend;
  }
  for (const std::string& gap : topology.gaps) {
    text += fmt::format("  note: {}\n", gap);
  }
  return text;
}

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
