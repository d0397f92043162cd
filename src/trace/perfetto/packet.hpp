// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// A TracePacket of anybody's, taken apart. Private to trace/. Views live as long as its bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <protozero/data_view.hpp>

namespace shunt::trace {

/// The parts that count. Their order in the packet means nothing.
struct Packet {
  std::uint32_t sequence = 0;
  std::uint32_t flags = 0;
  bool dropped = false;
  std::optional<std::uint64_t> stamp;
  std::optional<std::uint32_t> clock;
  protozero::data_view defaults;
  protozero::data_view interned;
  protozero::data_view snapshot;
  protozero::data_view event;
  protozero::data_view track;
  protozero::data_view process;
  protozero::data_view thread;
  protozero::data_view stage;
  protozero::data_view inflated;  ///< Packets, behind zlib.
  protozero::data_view unzstd;    ///< Packets, behind zstd.
};

/// Throws protozero::exception on damage.
[[nodiscard]] Packet parse_packet(std::string_view bytes);

}  // namespace shunt::trace
