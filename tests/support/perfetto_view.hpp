// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// What a viewer makes of a Perfetto trace.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <protozero/pbf_reader.hpp>

#include "trace/perfetto_fields.hpp"

namespace shunt::testing {

/// What a viewer makes of a trace.
struct Viewed {
  struct Slice {
    std::string name;
    std::string category;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::size_t depth = 0;
    std::map<std::string, std::int64_t> args;
  };
  struct Row {
    std::string name;
    std::uint64_t parent = 0;
    std::int32_t order = 0;
    std::int32_t pid = 0;
    std::string unit;
    std::vector<Slice> slices;
    std::vector<std::pair<std::uint64_t, std::int64_t>> values;
  };
  std::map<std::uint64_t, Row> rows;
  std::map<std::uint64_t, std::uint64_t> flow_starts;  ///< Flow → time.
  std::map<std::uint64_t, std::uint64_t> flow_ends;
  std::uint32_t first_flags = 0;
  std::set<std::uint32_t> other_flags;

  [[nodiscard]] const Row* find(const std::string& process, const std::string& name) const {
    for (const auto& [id, row] : rows) {
      std::uint64_t top = id;
      while (rows.at(top).parent != 0) top = rows.at(top).parent;
      if (row.name == name && rows.at(top).name == process) return &row;
    }
    return nullptr;
  }
};

/// Reads with protozero's reader and follows the format's rules for slices: an end closes the
/// innermost open slice of its track. Fails the test where a viewer would drop something.
class Viewer {
 public:
  static Viewed view(const std::string& bytes) {
    Viewer viewer;
    protozero::pbf_reader trace(bytes);
    while (trace.next(trace::field::trace::kPacket)) viewer.packet(trace.get_message());
    for (auto& [track, open] : viewer.open_) EXPECT_TRUE(open.empty()) << track;
    return std::move(viewer.viewed_);
  }

 private:
  void packet(protozero::pbf_reader packet) {
    std::uint64_t time = 0;
    std::uint32_t flags = 0;
    std::vector<protozero::pbf_reader> events;
    while (packet.next()) {
      switch (packet.tag()) {
        case trace::field::packet::kTimestamp:
          time = packet.get_uint64();
          break;
        case trace::field::packet::kSequenceFlags:
          flags = packet.get_uint32();
          break;
        case trace::field::packet::kInternedData:
          intern(packet.get_message());
          break;
        case trace::field::packet::kTrackDescriptor:
          descriptor(packet.get_message());
          break;
        case trace::field::packet::kTrackEvent:
          events.push_back(packet.get_message());
          break;
        default:
          packet.skip();
      }
    }
    if (std::exchange(first_, false)) {
      viewed_.first_flags = flags;
    } else {
      viewed_.other_flags.insert(flags);
    }
    for (const protozero::pbf_reader& event : events) track_event(event, time);
  }

  void intern(protozero::pbf_reader data) {
    while (data.next()) {
      auto& names = data.tag() == trace::field::interned::kEventNames        ? names_
                    : data.tag() == trace::field::interned::kEventCategories ? categories_
                                                                             : argument_names_;
      protozero::pbf_reader entry = data.get_message();
      std::uint64_t id = 0;
      std::string name;
      while (entry.next()) {
        if (entry.tag() == trace::field::interned::kIid) {
          id = entry.get_uint64();
        } else {
          name = entry.get_string();
        }
      }
      EXPECT_TRUE(names.emplace(id, name).second) << "defined twice: " << name;
    }
  }

  void descriptor(protozero::pbf_reader descriptor) {
    std::uint64_t id = 0;
    Viewed::Row row;
    while (descriptor.next()) {
      switch (descriptor.tag()) {
        case trace::field::descriptor::kUuid:
          id = descriptor.get_uint64();
          break;
        case trace::field::descriptor::kName:
          row.name = descriptor.get_string();
          break;
        case trace::field::descriptor::kParentUuid:
          row.parent = descriptor.get_uint64();
          break;
        case trace::field::descriptor::kSiblingOrderRank:
          row.order = descriptor.get_int32();
          break;
        case trace::field::descriptor::kProcess: {
          protozero::pbf_reader process = descriptor.get_message();
          if (process.next(trace::field::process::kPid)) row.pid = process.get_int32();
          break;
        }
        case trace::field::descriptor::kCounter: {
          protozero::pbf_reader counter = descriptor.get_message();
          if (counter.next(trace::field::counter::kUnitName)) row.unit = counter.get_string();
          break;
        }
        default:
          descriptor.skip();
      }
    }
    if (id == 0) return;
    EXPECT_TRUE(row.parent == 0 || viewed_.rows.count(row.parent) == 1) << row.name;
    EXPECT_TRUE(viewed_.rows.emplace(id, row).second) << "declared twice: " << row.name;
  }

  void track_event(protozero::pbf_reader event, std::uint64_t time) {
    std::int32_t type = 0;
    std::uint64_t track = 0;
    std::int64_t value = 0;
    std::uint64_t starts = 0;
    std::uint64_t ends = 0;
    Viewed::Slice slice;
    slice.begin = slice.end = time;
    while (event.next()) {
      switch (event.tag()) {
        case trace::field::event::kType:
          type = event.get_int32();
          break;
        case trace::field::event::kTrackUuid:
          track = event.get_uint64();
          break;
        case trace::field::event::kNameIid:
          slice.name = names_.at(event.get_uint64());
          break;
        case trace::field::event::kCategoryIids:
          slice.category = categories_.at(event.get_uint64());
          break;
        case trace::field::event::kCounterValue:
          value = event.get_int64();
          break;
        case trace::field::event::kFlowIds:
          starts = event.get_fixed64();
          break;
        case trace::field::event::kTerminatingFlowIds:
          ends = event.get_fixed64();
          break;
        case trace::field::event::kDebugAnnotations: {
          protozero::pbf_reader annotation = event.get_message();
          ASSERT_TRUE(annotation.next(trace::field::annotation::kNameIid));
          const std::string name = argument_names_.at(annotation.get_uint64());
          ASSERT_TRUE(annotation.next(trace::field::annotation::kIntValue));
          slice.args[name] = annotation.get_int64();
          break;
        }
        default:
          event.skip();
      }
    }
    ASSERT_EQ(viewed_.rows.count(track), 1U) << "event before its track";
    if (starts != 0) viewed_.flow_starts[starts] = time;
    if (ends != 0) viewed_.flow_ends[ends] = time;
    Viewed::Row& row = viewed_.rows[track];
    auto& open = open_[track];
    ASSERT_GE(time, last_time_[track]) << row.name << ": time runs back";
    last_time_[track] = time;
    if (type == trace::field::kSliceBegin) {
      slice.depth = open.size();
      open.push_back(row.slices.size());
      row.slices.push_back(slice);
    } else if (type == trace::field::kSliceEnd) {
      ASSERT_FALSE(open.empty()) << row.name;
      row.slices[open.back()].end = time;
      open.pop_back();
    } else if (type == trace::field::kInstant) {
      row.slices.push_back(slice);
    } else if (type == trace::field::kCounter) {
      row.values.emplace_back(time, value);
    }
  }

  Viewed viewed_;
  std::map<std::uint64_t, std::string> names_;
  std::map<std::uint64_t, std::string> categories_;
  std::map<std::uint64_t, std::string> argument_names_;
  std::map<std::uint64_t, std::vector<std::size_t>> open_;
  std::map<std::uint64_t, std::uint64_t> last_time_;
  bool first_ = true;
};

}  // namespace shunt::testing
