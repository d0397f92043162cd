// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "trace/perfetto/event_reader.hpp"

#include <algorithm>
#include <charconv>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>

#include "base/error.hpp"
#include "trace/packet_stream.hpp"
#include "trace/perfetto/clocks.hpp"
#include "trace/perfetto/interned.hpp"
#include "trace/perfetto/open_spans.hpp"
#include "trace/perfetto/packet.hpp"
#include "trace/perfetto/track_event.hpp"
#include "trace/perfetto_fields.hpp"
#include "trace/perfetto_packets.hpp"

namespace shunt::trace {
namespace {

using protozero::data_view;
using protozero::pbf_reader;

constexpr std::size_t kMostSequences = std::size_t{1} << 16;
constexpr std::size_t kMostNameBytes = std::size_t{32} << 20;
constexpr std::size_t kMostRanks = 1 << 16;
/// Longer spans are damage: 26 days.
constexpr std::int64_t kMostDuration = std::int64_t{1} << 51;

/// What packets of one writer leave out because an earlier one said it.
struct Sequence {
  bool valid = false;  ///< Nothing was lost since its state was last set anew.
  std::uint32_t clock = 0;
  std::optional<std::uint64_t> track;
  std::optional<std::int64_t> pid;  ///< Of the writer's thread, in old traces.
  std::int64_t tid = 0;
  std::int64_t reference_us = 0;
  Interned names;

  void clear() {
    valid = true;
    clock = 0;
    track.reset();
    pid.reset();
    reference_us = 0;
    names.clear();
  }
};

/// "rank 3", "Rank: 3", "python (rank=3)".
std::optional<int> rank_in(std::string_view name) {
  for (std::size_t at = 0; at + 4 < name.size(); ++at) {
    if ((name[at] != 'r' && name[at] != 'R') || name.substr(at + 1, 3) != "ank") continue;
    const std::size_t digits = name.find_first_not_of(" :=_#", at + 4);
    if (digits == std::string_view::npos) return std::nullopt;
    int rank = 0;
    const auto read = std::from_chars(name.data() + digits, name.data() + name.size(), rank);
    if (read.ec == std::errc() && rank >= 0) return rank;
  }
  return std::nullopt;
}

std::uint64_t thread_track(std::int64_t pid, std::int64_t tid) {
  return (static_cast<std::uint64_t>(pid) << 32 ^ static_cast<std::uint64_t>(tid)) *
         0x9E3779B97F4A7C15U;
}

class Reader {
 public:
  explicit Reader(ChromeVisitor& visitor) : visitor_(visitor), open_(visitor) {}

  void read(ByteSource& source, PacketStream& stream, int depth = 0) {
    while (const auto bytes = stream.next()) {
      try {
        take(parse_packet(*bytes), depth);
      } catch (const protozero::exception&) {
        ++damaged_;
      }
    }
    if (depth > 0 && (!stream.problem().empty() || !source.failure().empty())) ++damaged_;
  }

  ChromeSummary finish() {
    open_.finish();
    ChromeSummary summary;
    summary.format = "Perfetto";
    summary.events = events_;
    const auto note = [&summary](std::uint64_t count, std::string_view what) {
      if (count > 0) summary.notes.push_back(fmt::format("{} {}", count, what));
    };
    note(damaged_, "packets cannot be read and were left out");
    note(lost_, "packets refer to what the trace has lost before them, and were left out");
    note(timeless_, "events have no time, or one that cannot be, and were left out");
    note(open_.disordered(), "spans begin before one that is open: nesting is a guess");
    note(open_.left_out(), "spans on tracks beyond the first 262144 were left out");
    note(clocks_.unrelated(), "clocks that no snapshot relates to the first: times as they are");
    if (ranks_.size() == 1) summary.header.rank = *ranks_.begin();
    if (ranks_.size() > 1) note(ranks_.size(), "ranks in one file: their spans count together");
    return summary;
  }

  [[nodiscard]] std::uint64_t damaged() const { return damaged_; }

 private:
  void take(const Packet& packet, int depth) {
    if (depth == 0 && !packet.inflated.empty()) {
      take_packed(inflated_bytes({packet.inflated.data(), packet.inflated.size()}));
      return;
    }
    if (depth == 0 && !packet.unzstd.empty()) {
      take_packed(unzstd_bytes({packet.unzstd.data(), packet.unzstd.size()}));
      return;
    }
    if (sequences_.size() >= kMostSequences && sequences_.count(packet.sequence) == 0) {
      ++lost_;
      return;
    }
    Sequence& sequence = sequences_[packet.sequence];
    if ((packet.flags & field::kIncrementalStateCleared) != 0) {
      sequence.clear();
    } else if (packet.dropped) {
      sequence.valid = false;
    }
    if (!packet.defaults.empty()) take_defaults(pbf_reader(packet.defaults), sequence);
    if (!packet.interned.empty()) sequence.names.add(pbf_reader(packet.interned), room_);
    if (!packet.snapshot.empty()) {
      clocks_.snapshot(packet.sequence, pbf_reader(packet.snapshot));
      return;  // Its own stamp does not advance the clocks it sets.
    }
    if ((packet.flags & field::kNeedsIncrementalState) != 0 && !sequence.valid) {
      ++lost_;
      return;
    }
    std::optional<std::int64_t> time;
    if (packet.stamp) {
      const std::uint32_t fallback = sequence.clock != 0 ? sequence.clock : field::kClockBoottime;
      time = clocks_.to_ns(packet.sequence, packet.clock.value_or(fallback), *packet.stamp);
    }
    if (!packet.track.empty()) take_track(pbf_reader(packet.track));
    if (!packet.process.empty()) take_process(pbf_reader(packet.process));
    if (!packet.thread.empty()) take_thread(pbf_reader(packet.thread), sequence);
    if (!packet.event.empty()) take_event(pbf_reader(packet.event), packet, sequence, time);
    if (!packet.stage.empty()) take_stage(pbf_reader(packet.stage), sequence, time);
  }

  void take_packed(const std::unique_ptr<ByteSource>& source) {
    PacketStream stream(*source);
    read(*source, stream, 1);
  }

  static void take_defaults(pbf_reader in, Sequence& sequence) {
    while (in.next()) {
      if (in.tag_and_type() == key(field::defaults::kTimestampClockId, kVarint)) {
        sequence.clock = in.get_uint32();
      } else if (in.tag_and_type() == key(field::defaults::kTrackEvent, kLength)) {
        pbf_reader event = in.get_message();
        while (event.next()) {
          if (event.tag_and_type() == key(field::event::kTrackUuid, kVarint)) {
            sequence.track = event.get_uint64();
          } else {
            event.skip();
          }
        }
      } else {
        in.skip();
      }
    }
  }

  void take_name(std::string_view name) {
    const auto rank = rank_in(name);
    if (rank && ranks_.size() < kMostRanks) ranks_.insert(*rank);
  }

  void take_process(pbf_reader in) {
    while (in.next()) {
      if (in.tag_and_type() == key(field::process::kName, kLength)) {
        const data_view name = in.get_view();
        take_name({name.data(), name.size()});
      } else {
        in.skip();
      }
    }
  }

  /// A process may be named by its track or by itself.
  void take_track(pbf_reader in) {
    data_view name;
    data_view process;
    bool any = false;
    while (in.next()) {
      if (in.tag_and_type() == key(field::descriptor::kName, kLength)) {
        name = in.get_view();
      } else if (in.tag_and_type() == key(field::descriptor::kProcess, kLength)) {
        process = in.get_view();
        any = true;
      } else {
        in.skip();
      }
    }
    if (!any) return;
    take_name({name.data(), name.size()});
    if (!process.empty()) take_process(pbf_reader(process));
  }

  static void take_thread(pbf_reader in, Sequence& sequence) {
    while (in.next()) {
      switch (in.tag_and_type()) {
        case key(field::thread::kPid, kVarint):
          sequence.pid = in.get_int32();
          break;
        case key(field::thread::kTid, kVarint):
          sequence.tid = in.get_int32();
          break;
        case key(field::thread::kReferenceTimestampUs, kVarint):
          sequence.reference_us = in.get_int64();
          break;
        default:
          in.skip();
      }
    }
    if (!sequence.pid) sequence.pid = 0;
  }

  /// Old traces write µs of the monotonic clock into the event itself.
  std::optional<std::int64_t> time_of(const TrackEvent& event,
                                      const Packet& packet,
                                      Sequence& sequence,
                                      std::optional<std::int64_t> stamped) {
    std::int64_t micros = 0;
    if (event.delta_us) {
      if (__builtin_add_overflow(sequence.reference_us, *event.delta_us, &micros)) {
        return std::nullopt;
      }
      sequence.reference_us = micros;
    } else if (event.absolute_us) {
      micros = *event.absolute_us;
    } else {
      return stamped;
    }
    if (micros < 0 || micros > INT64_MAX / 1000) return std::nullopt;
    return clocks_.to_ns(
        packet.sequence, field::kClockMonotonic, static_cast<std::uint64_t>(micros) * 1000);
  }

  /// Where begins and ends of the event nest.
  static std::uint64_t track_of(const TrackEvent& event, const Sequence& sequence) {
    const bool async = event.type == 0 && event.id &&
                       std::string_view("benSTpF").find(event.phase) != std::string_view::npos;
    if (async) {
      return (*event.id ^ std::hash<std::string_view>{}(event.id_scope) ^
              std::hash<std::string_view>{}(event.category)) *
             0xC2B2AE3D27D4EB4FU;
    }
    if (event.pid || event.tid) {
      return thread_track(event.pid.value_or(sequence.pid.value_or(0)),
                          event.tid.value_or(sequence.tid));
    }
    if (event.track) return *event.track;
    if (sequence.track) return *sequence.track;
    return sequence.pid ? thread_track(*sequence.pid, sequence.tid) : 0;
  }

  void take_event(pbf_reader in,
                  const Packet& packet,
                  Sequence& sequence,
                  std::optional<std::int64_t> stamped) {
    const TrackEvent read = parse_track_event(in, sequence.names);
    const auto time = time_of(read, packet, sequence, stamped);
    if (!time) {
      ++timeless_;
      return;
    }
    ++events_;
    const auto is = [&read](int type, std::string_view phases) {
      return read.type == type ||
             (read.type == 0 && phases.find(read.phase) != std::string_view::npos);
    };
    const bool begins = is(field::kSliceBegin, "BbS");
    const bool ends = is(field::kSliceEnd, "EeF");
    const bool whole = read.type == 0 && read.phase == 'X';
    if (!begins && !ends && !whole) return;
    ChromeEvent event;
    event.name = read.name;
    event.category = read.category;
    event.ts_ns = *time;
    ArgumentTexts texts;
    take_arguments(read, sequence.names, texts, event);
    if (begins) {
      open_.begin(track_of(read, sequence), event);
    } else if (ends) {
      open_.end(track_of(read, sequence), event);
    } else if (read.duration_us >= 0 && read.duration_us < kMostDuration / 1000) {
      event.phase = 'X';
      event.dur_ns = read.duration_us * 1000;
      visitor_.event(event);
    }
  }

  /// A kernel as GPU profilers write it: name and duration in one event.
  void take_stage(pbf_reader in, const Sequence& sequence, std::optional<std::int64_t> time) {
    std::string_view name;
    std::string_view kernel;
    std::string_view stage;
    std::uint64_t duration = 0;
    while (in.next()) {
      switch (in.tag_and_type()) {
        case key(field::render_stage::kDuration, kVarint):
          duration = in.get_uint64();
          break;
        case key(field::render_stage::kName, kLength): {
          const data_view text = in.get_view();
          name = {text.data(), text.size()};
          break;
        }
        case key(field::render_stage::kNameIid, kVarint):
          name = sequence.names.find(Interned::kNames, in.get_uint64());
          break;
        case key(field::render_stage::kKernelIid, kVarint):
          kernel = sequence.names.find(Interned::kKernels, in.get_uint64());
          break;
        case key(field::render_stage::kStageIid, kVarint):
          stage = sequence.names.find(Interned::kStages, in.get_uint64());
          break;
        default:
          in.skip();
      }
    }
    if (!time || duration > static_cast<std::uint64_t>(kMostDuration)) {
      ++timeless_;
      return;
    }
    ++events_;
    ChromeEvent event;
    event.phase = 'X';
    event.name = !name.empty() ? name : !kernel.empty() ? kernel : stage;
    event.category = "kernel";
    event.ts_ns = *time;
    event.dur_ns = static_cast<std::int64_t>(duration);
    visitor_.event(event);
  }

  ChromeVisitor& visitor_;
  OpenSpans open_;
  Clocks clocks_;
  std::unordered_map<std::uint32_t, Sequence> sequences_;
  std::size_t room_ = kMostNameBytes;
  std::set<int> ranks_;
  std::uint64_t events_ = 0;
  std::uint64_t damaged_ = 0;
  std::uint64_t lost_ = 0;
  std::uint64_t timeless_ = 0;
};

}  // namespace

Result<ChromeSummary> read_perfetto(ByteSource& source, ChromeVisitor& visitor) {
  PacketStream stream(source);
  Reader reader(visitor);
  reader.read(source, stream);
  ChromeSummary summary = reader.finish();
  summary.bytes = stream.offset();
  if (!stream.problem().empty()) {
    summary.ends_early_at = stream.offset();
    summary.problem = stream.problem();
  }
  if (summary.events == 0) {
    return fail(ErrorCode::kCorrupt,
                ErrorScope::kOperation,
                "no event of a track or a GPU in the Perfetto trace of {} bytes{}{}",
                summary.bytes,
                summary.problem.empty() ? "" : ": ",
                summary.problem);
  }
  return summary;
}

}  // namespace shunt::trace
