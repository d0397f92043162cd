// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "trace/perfetto_packets.hpp"

#include "trace/perfetto_fields.hpp"

namespace shunt::trace {
namespace {

using protozero::pbf_reader;

std::string text_of(protozero::data_view view) {
  return {view.data(), view.size()};
}

}  // namespace

PacketTrack parse_track(pbf_reader in) {
  PacketTrack out;
  while (in.next()) {
    switch (in.tag_and_type()) {
      case key(field::descriptor::kUuid, kVarint):
        out.id = in.get_uint64();
        break;
      case key(field::descriptor::kParentUuid, kVarint):
        out.parent = in.get_uint64();
        break;
      case key(field::descriptor::kName, kLength):
        out.name = text_of(in.get_view());
        break;
      case key(field::descriptor::kDescription, kLength):
        out.description = text_of(in.get_view());
        break;
      case key(field::descriptor::kProcess, kLength):
        out.process = true;
        in.skip();
        break;
      default:
        in.skip();
    }
  }
  return out;
}

PacketEvent parse_event(pbf_reader in) {
  PacketEvent out;
  while (in.next()) {
    switch (in.tag_and_type()) {
      case key(field::event::kType, kVarint):
        out.type = in.get_int32();
        break;
      case key(field::event::kTrackUuid, kVarint):
        out.row = in.get_uint64();
        break;
      case key(field::event::kCategoryIids, kVarint):
        out.category = in.get_uint64();
        break;
      case key(field::event::kNameIid, kVarint):
        out.name = in.get_uint64();
        break;
      case key(field::event::kDebugAnnotations, kLength): {
        pbf_reader annotation = in.get_message();
        std::pair<std::uint64_t, std::int64_t> argument{};
        while (annotation.next()) {
          if (annotation.tag_and_type() == key(field::annotation::kNameIid, kVarint)) {
            argument.first = annotation.get_uint64();
          } else if (annotation.tag_and_type() == key(field::annotation::kIntValue, kVarint)) {
            argument.second = annotation.get_int64();
          } else {
            annotation.skip();
          }
        }
        out.arguments.push_back(argument);
        break;
      }
      default:
        in.skip();
    }
  }
  return out;
}

std::pair<std::uint64_t, std::string> parse_interned(pbf_reader in) {
  std::pair<std::uint64_t, std::string> out;
  while (in.next()) {
    if (in.tag_and_type() == key(field::interned::kIid, kVarint)) {
      out.first = in.get_uint64();
    } else if (in.tag_and_type() == key(field::interned::kName, kLength)) {
      out.second = text_of(in.get_view());
    } else {
      in.skip();
    }
  }
  return out;
}

}  // namespace shunt::trace
