// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "cluster/topology.hpp"

#include <array>
#include <charconv>
#include <utility>

#include <fmt/format.h>

namespace shunt::cluster {

const char* to_string(PathKind kind) {
  switch (kind) {
    case PathKind::kSelf:
      return "X";
    case PathKind::kNvlink:
      return "NV";
    case PathKind::kXgmi:
      return "XGMI";
    case PathKind::kHccs:
      return "HCCS";
    case PathKind::kC2c:
      return "C2C";
    case PathKind::kNvb:
      return "NVB";
    case PathKind::kPix:
      return "PIX";
    case PathKind::kPxb:
      return "PXB";
    case PathKind::kPhb:
      return "PHB";
    case PathKind::kNode:
      return "NODE";
    case PathKind::kPcie:
      return "PCIE";
    case PathKind::kSys:
      return "SYS";
    case PathKind::kNoLink:
      return "none";
    case PathKind::kUnknown:
      break;
  }
  return "?";
}

std::string Path::to_string() const {
  if (kind == PathKind::kNvlink && links > 0) {
    return fmt::format("NV{}", links);
  }
  if (kind == PathKind::kXgmi && links > 0) {
    return fmt::format("XGMI{}", links);
  }
  return cluster::to_string(kind);
}

std::optional<Path> parse_path(std::string_view word) {
  struct Word {
    std::string_view text;
    PathKind kind;
  };
  static constexpr std::array<Word, 18> kWords = {{
      {"X", PathKind::kSelf},
      {"SELF", PathKind::kSelf},
      {"PIX", PathKind::kPix},
      {"PXB", PathKind::kPxb},
      {"PHB", PathKind::kPhb},
      {"NODE", PathKind::kNode},
      {"SYS", PathKind::kSys},
      {"SOC", PathKind::kSys},
      {"PSB", PathKind::kPxb},
      {"XGMI", PathKind::kXgmi},
      {"PCIE", PathKind::kPcie},
      {"HCCS", PathKind::kHccs},
      {"SIO", PathKind::kHccs},
      {"C2C", PathKind::kC2c},
      {"P2C", PathKind::kC2c},
      {"NVB", PathKind::kNvb},
      {"HCCS_SW", PathKind::kHccs},
      {"XXXX", PathKind::kUnknown},
  }};
  for (const Word& known : kWords) {
    if (word == known.text) {
      return Path{known.kind, 0, -1, -1, 0};
    }
  }
  if (word.size() >= 3 && word.size() <= 4 && word.substr(0, 2) == "NV") {
    int links = 0;
    const auto [end, error] = std::from_chars(word.data() + 2, word.data() + word.size(), links);
    if (error == std::errc{} && end == word.data() + word.size() && links > 0) {
      return Path{PathKind::kNvlink, links, -1, -1, 0};
    }
  }
  return std::nullopt;
}

std::size_t Topology::add(Device device) {
  const std::size_t before = devices.size();
  devices.push_back(std::move(device));
  std::vector<Path> grown(devices.size() * devices.size());
  for (std::size_t row = 0; row < before; ++row) {
    for (std::size_t column = 0; column < before; ++column) {
      grown[row * devices.size() + column] = cells[row * before + column];
    }
  }
  cells = std::move(grown);
  cell(before, before).kind = PathKind::kSelf;
  return before;
}

const Path& Topology::path(std::size_t a, std::size_t b) const {
  const Path& own = cell(a, b);
  return own.kind == PathKind::kUnknown ? cell(b, a) : own;
}

bool Topology::contradicts(std::size_t a, std::size_t b) const {
  const Path& one = cell(a, b);
  const Path& other = cell(b, a);
  return one.kind != PathKind::kUnknown && other.kind != PathKind::kUnknown &&
         (one.kind != other.kind || one.links != other.links);
}

std::vector<std::size_t> Topology::of_kind(DeviceKind kind) const {
  std::vector<std::size_t> found;
  for (std::size_t index = 0; index < devices.size(); ++index) {
    if (devices[index].kind == kind) {
      found.push_back(index);
    }
  }
  return found;
}

std::optional<std::size_t> Topology::find(std::string_view label_or_name) const {
  for (std::size_t index = 0; index < devices.size(); ++index) {
    if (devices[index].label == label_or_name || devices[index].name == label_or_name) {
      return index;
    }
  }
  return std::nullopt;
}

bool Topology::same_matrix(const Topology& other) const {
  return devices == other.devices && cells == other.cells;
}

}  // namespace shunt::cluster
