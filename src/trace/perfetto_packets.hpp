// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// The messages of a Perfetto trace as plain values, as far as shunt writes them. Private to trace/.
// All throw protozero::exception on damage.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <protozero/pbf_reader.hpp>

namespace shunt::trace {

inline constexpr auto kVarint = protozero::pbf_wire_type::varint;
inline constexpr auto kLength = protozero::pbf_wire_type::length_delimited;

/// For switches over pbf_reader::tag_and_type(): a known field of another wire type is damage, and
/// skipped like a stranger.
[[nodiscard]] constexpr std::uint32_t key(protozero::pbf_tag_type tag,
                                          protozero::pbf_wire_type type) {
  return protozero::tag_and_type(tag, type);
}

/// A TrackEvent as it stands in its packet.
struct PacketEvent {
  std::uint64_t time_ns = 0;
  int type = 0;
  std::uint64_t row = 0;
  std::uint64_t category = 0;
  std::uint64_t name = 0;
  std::vector<std::pair<std::uint64_t, std::int64_t>> arguments;  ///< Name id, value.
};

/// A TrackDescriptor.
struct PacketTrack {
  std::uint64_t id = 0;
  std::uint64_t parent = 0;
  std::string name;
  std::string description;
  bool process = false;
};

[[nodiscard]] PacketTrack parse_track(protozero::pbf_reader in);
[[nodiscard]] PacketEvent parse_event(protozero::pbf_reader in);
/// The name of an entry of InternedData, by its id.
[[nodiscard]] std::pair<std::uint64_t, std::string> parse_interned(protozero::pbf_reader in);

}  // namespace shunt::trace
