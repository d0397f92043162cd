// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include <protozero/pbf_writer.hpp>

#include "trace/perfetto_fields.hpp"
#include "trace/sink.hpp"

namespace shunt::trace {
namespace {

using protozero::pbf_writer;

constexpr std::uint32_t kSequence = 1;

/// Names that have been sent on the sequence, by text.
class Interned {
 public:
  /// The id of `name`, and whether this packet must define it.
  std::pair<std::uint64_t, bool> id(const char* name) {
    const auto [entry, added] = ids_.try_emplace(name, ids_.size() + 1);
    return {entry->second, added};
  }

 private:
  std::unordered_map<std::string_view, std::uint64_t> ids_;
};

class PerfettoSink : public TraceSink {
 public:
  PerfettoSink(OutputFile file, const TraceHeader& header) : file_(std::move(file)) {
    // Children of the root are the processes; without this the viewer sorts them by name.
    packet(0, [&](pbf_writer& out) {
      pbf_writer descriptor(out, field::packet::kTrackDescriptor);
      descriptor.add_uint64(field::descriptor::kUuid, 0);
      descriptor.add_string(field::descriptor::kDescription, header.description);
      descriptor.add_int32(field::descriptor::kProcessOrdering, field::kProcessesExplicit);
    });
  }

  void declare(const Track& track) override {
    packet(0, [&](pbf_writer& out) {
      pbf_writer descriptor(out, field::packet::kTrackDescriptor);
      descriptor.add_uint64(field::descriptor::kUuid, track.id);
      if (track.parent != 0) descriptor.add_uint64(field::descriptor::kParentUuid, track.parent);
      descriptor.add_string(field::descriptor::kName, track.name);
      descriptor.add_int32(field::descriptor::kSiblingOrderRank, track.order);
      if (track.kind == Track::Kind::kProcess) {
        pbf_writer process(descriptor, field::descriptor::kProcess);
        process.add_int32(field::process::kPid, track.pid);
        process.add_string(field::process::kName, track.name);
      } else if (track.kind == Track::Kind::kCounter) {
        pbf_writer counter(descriptor, field::descriptor::kCounter);
        counter.add_string(field::counter::kUnitName, track.unit);
      }
      descriptor.add_int32(field::descriptor::kChildOrdering, field::kExplicit);
      // Equal names are different rows: no folding of blocks into one.
      descriptor.add_int32(field::descriptor::kSiblingMergeBehavior, field::kMergeNone);
    });
  }

  void begin(const Event& event) override { write(event, field::kSliceBegin, event.begin_ns); }

  void end(const Event& event) override {
    packet(event.end_ns, [&](pbf_writer& out) {
      pbf_writer track_event(out, field::packet::kTrackEvent);
      track_event.add_int32(field::event::kType, field::kSliceEnd);
      track_event.add_uint64(field::event::kTrackUuid, event.track);
    });
  }

  void instant(const Event& event) override { write(event, field::kInstant, event.begin_ns); }

  void counter(std::uint64_t track, std::uint64_t time_ns, std::int64_t value) override {
    packet(time_ns, [&](pbf_writer& out) {
      pbf_writer track_event(out, field::packet::kTrackEvent);
      track_event.add_int32(field::event::kType, field::kCounter);
      track_event.add_uint64(field::event::kTrackUuid, track);
      track_event.add_int64(field::event::kCounterValue, value);
    });
  }

  Status finish() override {
    if (!status_) return status_;
    return file_.commit();
  }

  [[nodiscard]] bool ok() const override { return status_.has_value(); }

 private:
  void write(const Event& event, int type, std::uint64_t time_ns) {
    packet(time_ns, [&](pbf_writer& out) {
      const auto [name, name_is_new] = names_.id(event.name);
      const auto [category, category_is_new] = categories_.id(event.category);
      std::array<std::uint64_t, 6> arguments{};
      std::array<bool, 6> is_new{};
      bool any_new = name_is_new || category_is_new;
      for (std::uint32_t i = 0; i < event.argument_count; ++i) {
        std::tie(arguments[i], is_new[i]) = argument_names_.id(event.arguments[i].name);
        any_new = any_new || is_new[i];
      }
      if (any_new) {
        pbf_writer interned(out, field::packet::kInternedData);
        if (category_is_new) {
          define(interned, field::interned::kEventCategories, category, event.category);
        }
        if (name_is_new) define(interned, field::interned::kEventNames, name, event.name);
        for (std::uint32_t i = 0; i < event.argument_count; ++i) {
          if (!is_new[i]) continue;
          define(interned,
                 field::interned::kDebugAnnotationNames,
                 arguments[i],
                 event.arguments[i].name);
        }
      }
      pbf_writer track_event(out, field::packet::kTrackEvent);
      track_event.add_int32(field::event::kType, type);
      track_event.add_uint64(field::event::kTrackUuid, event.track);
      track_event.add_uint64(field::event::kCategoryIids, category);
      track_event.add_uint64(field::event::kNameIid, name);
      for (std::uint32_t i = 0; i < event.argument_count; ++i) {
        pbf_writer annotation(track_event, field::event::kDebugAnnotations);
        annotation.add_uint64(field::annotation::kNameIid, arguments[i]);
        annotation.add_int64(field::annotation::kIntValue, event.arguments[i].value);
      }
      if (event.flow != 0) {
        track_event.add_fixed64(
            event.flow_ends_here ? field::event::kTerminatingFlowIds : field::event::kFlowIds,
            event.flow);
      }
    });
  }

  static void define(pbf_writer& interned,
                     protozero::pbf_tag_type kind,
                     std::uint64_t id,
                     const char* name) {
    pbf_writer entry(interned, kind);
    entry.add_uint64(field::interned::kIid, id);
    entry.add_string(field::interned::kName, name);
  }

  /// One TracePacket; `time_ns` 0 leaves the time out (descriptors have none).
  template <typename Fill>
  void packet(std::uint64_t time_ns, Fill fill) {
    if (!status_) return;
    bytes_.clear();
    {
      pbf_writer trace(bytes_);
      pbf_writer out(trace, field::trace::kPacket);
      if (time_ns != 0) out.add_uint64(field::packet::kTimestamp, time_ns);
      out.add_uint32(field::packet::kTrustedPacketSequenceId, kSequence);
      out.add_uint32(field::packet::kSequenceFlags,
                     std::exchange(first_, false) ? field::kIncrementalStateCleared
                                                  : field::kNeedsIncrementalState);
      fill(out);
    }
    status_ = file_.write(bytes_);
  }

  OutputFile file_;
  std::string bytes_;
  Interned names_;
  Interned categories_;
  Interned argument_names_;
  Status status_;
  bool first_ = true;
};

}  // namespace

std::unique_ptr<TraceSink> make_perfetto_sink(OutputFile file, const TraceHeader& header) {
  return std::make_unique<PerfettoSink>(std::move(file), header);
}

}  // namespace shunt::trace
