// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "trace/perfetto/packet.hpp"

#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>
#include <protozero/varint.hpp>

#include "trace/packet_stream.hpp"
#include "trace/perfetto/event_reader.hpp"
#include "trace/perfetto_fields.hpp"
#include "trace/perfetto_packets.hpp"

namespace shunt::trace {
namespace {

using protozero::data_view;
using protozero::pbf_reader;

void parse_header(pbf_reader& in, Packet& out) {
  switch (in.tag_and_type()) {
    case key(field::packet::kTrustedPacketSequenceId, kVarint):
      out.sequence = in.get_uint32();
      break;
    case key(field::packet::kSequenceFlags, kVarint):
      out.flags |= in.get_uint32();
      break;
    case key(field::packet::kIncrementalStateCleared, kVarint):
      out.flags |= in.get_bool() ? field::kIncrementalStateCleared : 0;
      break;
    case key(field::packet::kPreviousPacketDropped, kVarint):
      out.dropped = in.get_uint32() != 0;
      break;
    case key(field::packet::kTimestamp, kVarint):
      out.stamp = in.get_uint64();
      break;
    case key(field::packet::kTimestampClockId, kVarint):
      out.clock = in.get_uint32();
      break;
    default:
      in.skip();
  }
}

data_view* part_of(std::uint32_t field, Packet& out) {
  switch (field) {
    case key(field::packet::kDefaults, kLength):
      return &out.defaults;
    case key(field::packet::kInternedData, kLength):
      return &out.interned;
    case key(field::packet::kClockSnapshot, kLength):
      return &out.snapshot;
    case key(field::packet::kTrackEvent, kLength):
      return &out.event;
    case key(field::packet::kTrackDescriptor, kLength):
      return &out.track;
    case key(field::packet::kProcessDescriptor, kLength):
      return &out.process;
    case key(field::packet::kThreadDescriptor, kLength):
      return &out.thread;
    case key(field::packet::kGpuRenderStageEvent, kLength):
      return &out.stage;
    case key(field::packet::kCompressedPackets, kLength):
      return &out.inflated;
    case key(field::packet::kZstdCompressedPackets, kLength):
      return &out.unzstd;
    default:
      return nullptr;
  }
}

/// A part that packets of a trace have and text has not by chance.
bool is_known(std::uint32_t field) {
  Packet none;
  switch (field) {
    case key(field::packet::kTimestamp, kVarint):
    case key(field::packet::kTrustedPacketSequenceId, kVarint):
    case key(field::packet::kTraceConfig, kLength):
    case key(field::packet::kTraceStats, kLength):
    case key(field::packet::kSynchronizationMarker, kLength):
    case key(field::packet::kTraceUuid, kLength):
      return true;
    default:
      return part_of(field, none) != nullptr;
  }
}

/// Of a packet whose first bytes these are; `whole` if they are all.
bool plausible(std::string_view bytes, bool whole, bool& known) {
  try {
    pbf_reader in(bytes.data(), bytes.size());
    while (in.next()) {
      known = known || is_known(in.tag_and_type());
      in.skip();
    }
    return true;
  } catch (const protozero::end_of_buffer_exception&) {
    return !whole;
  } catch (const protozero::exception&) {
    return false;
  }
}

}  // namespace

Packet parse_packet(std::string_view bytes) {
  Packet out;
  pbf_reader in(bytes.data(), bytes.size());
  while (in.next()) {
    data_view* part = part_of(in.tag_and_type(), out);
    if (part != nullptr) {
      *part = in.get_view();
    } else {
      parse_header(in, out);
    }
  }
  return out;
}

bool looks_like_perfetto(std::string_view head) {
  constexpr std::size_t kEnough = 4096;
  constexpr char kPacketKey = static_cast<char>(field::trace::kPacket << 3 | 2);
  const std::string_view bytes = head.substr(0, kEnough);
  bool known = false;
  for (std::size_t at = 0; at < bytes.size();) {
    if (bytes[at] != kPacketKey) return false;
    const char* data = bytes.data() + at + 1;
    std::uint64_t size = 0;
    try {
      size = protozero::decode_varint(&data, bytes.data() + bytes.size());
    } catch (const protozero::exception&) {
      // Cut by the end of the head, or damaged.
      return known && bytes.size() == kEnough;
    }
    if (size > PacketStream::kMostPacketBytes) return false;
    const auto begin = static_cast<std::size_t>(data - bytes.data());
    const bool whole = size <= bytes.size() - begin;
    if (!plausible(bytes.substr(begin, static_cast<std::size_t>(size)), whole, known)) return false;
    if (!whole) break;
    at = begin + static_cast<std::size_t>(size);
  }
  return known;
}

}  // namespace shunt::trace
