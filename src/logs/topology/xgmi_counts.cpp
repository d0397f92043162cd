// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <optional>

#include <fmt/format.h>

#include "logs/topology/amd_tables.hpp"
#include "logs/words.hpp"

namespace shunt::logs {
namespace {

using cluster::PathKind;
using cluster::Topology;

using Square = std::vector<std::vector<std::uint64_t>>;

/// A line of two-digit hexadecimal numbers and nothing else; empty if it is not.
std::vector<std::uint64_t> hex_bytes(std::string_view line) {
  std::vector<std::uint64_t> values;
  for (const std::string_view word : split_words(line)) {
    const auto value = word.size() == 2 ? parse_hex(word) : std::nullopt;
    if (!value) {
      return {};
    }
    values.push_back(*value);
  }
  return values;
}

bool is_symmetric(const Square& square) {
  for (std::size_t row = 0; row < square.size(); ++row) {
    for (std::size_t column = 0; column < square.size(); ++column) {
      if (square[row][column] != square[column][row] || (row == column && square[row][row] != 0)) {
        return false;
      }
    }
  }
  return true;
}

/// n lines of n numbers from `begin`; each card's file holds the whole square or its own line, so
/// what follows may repeat it.
std::optional<Square> square_at(std::span<const std::string_view> lines, std::size_t begin) {
  Square square = {hex_bytes(lines[begin])};
  const std::size_t size = square.front().size();
  if (size < 2 || size > 64 || begin + size > lines.size()) {
    return std::nullopt;
  }
  for (std::size_t row = 1; row < size; ++row) {
    square.push_back(hex_bytes(lines[begin + row]));
    if (square.back().size() != size) {
      return std::nullopt;
    }
  }
  return is_symmetric(square) ? std::optional(std::move(square)) : std::nullopt;
}

bool hops_announced(std::span<const std::string_view> lines, std::size_t begin) {
  for (std::size_t back = 1; back <= 3 && back <= begin; ++back) {
    if (contains(lines[begin - back], "num_hops")) {
      return true;
    }
    if (contains(lines[begin - back], "num_links")) {
      return false;
    }
  }
  return false;
}

Topology topology_of(const Square& square, bool hops) {
  Topology topology;
  topology.source = hops ? "xgmi_num_hops" : "xgmi_num_links";
  for (std::size_t gpu = 0; gpu < square.size(); ++gpu) {
    cluster::Device device;
    device.index = static_cast<int>(gpu);
    device.label = fmt::format("GPU{}", gpu);
    topology.add(std::move(device));
  }
  for (std::size_t row = 0; row < square.size(); ++row) {
    for (std::size_t column = 0; column < square.size(); ++column) {
      if (row == column) {
        continue;
      }
      cluster::Path& cell = topology.cell(row, column);
      const int value = static_cast<int>(square[row][column]);
      if (hops) {
        cell.hops = value & 0x3f;  // the driver's upper bits are flags
        cell.kind = cell.hops == 1 ? PathKind::kXgmi : PathKind::kUnknown;
      } else {
        cell.kind = value > 0 ? PathKind::kXgmi : PathKind::kNoLink;
        cell.links = value;
      }
    }
  }
  return topology;
}

}  // namespace

std::vector<Topology> read_xgmi_counts(std::span<const std::string_view> lines,
                                       std::vector<bool>& used) {
  std::vector<Topology> found;
  for (std::size_t index = 0; index < lines.size(); ++index) {
    const auto square = used[index] ? std::nullopt : square_at(lines, index);
    if (!square) {
      continue;
    }
    Topology topology = topology_of(*square, hops_announced(lines, index));
    topology.first_line = index + 1;
    topology.last_line = index + square->size();
    if (index > 0 && contains(lines[index - 1], "xgmi_num_")) {
      used[index - 1] = true;
    }
    std::fill_n(used.begin() + static_cast<std::ptrdiff_t>(index), square->size(), true);
    const bool repeated = std::any_of(found.begin(), found.end(), [&topology](const Topology& t) {
      return t.same_matrix(topology);
    });
    if (!repeated) {
      found.push_back(std::move(topology));
    }
    index += square->size() - 1;
  }
  return found;
}

}  // namespace shunt::logs
