// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "trace/perfetto_reader.hpp"

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>

#include "base/error.hpp"
#include "profile/run_json.hpp"
#include "trace/packet_stream.hpp"
#include "trace/perfetto_fields.hpp"
#include "trace/perfetto_packets.hpp"
#include "trace/track_names.hpp"

namespace shunt::trace {
namespace {

using profile::RecordingSummary;
using protozero::pbf_reader;

// What shunt writes stays far below these; damage does not.
constexpr std::size_t kMostRows = std::size_t{1} << 22;
constexpr std::size_t kMostNames = 4096;
constexpr std::size_t kMostOpen = 64;

struct Row {
  enum class Kind { kOther, kProcess, kSpans, kPuts, kArrivals };
  Kind kind = Kind::kOther;
  int rank = -1;
  int block = 0;
  int warp = 0;
  int qp = 0;
};

/// The description that a trace of ours begins with; empty if this is no such packet.
std::string description_in(std::string_view packet) {
  try {
    pbf_reader in(packet.data(), packet.size());
    while (in.next()) {
      if (in.tag_and_type() != key(field::packet::kTrackDescriptor, kLength)) {
        in.skip();
        continue;
      }
      PacketTrack descriptor = parse_track(in.get_message());
      if (descriptor.id == 0) return std::move(descriptor.description);
    }
  } catch (const protozero::exception&) {  // NOLINT: not a packet of ours
  }
  return {};
}

class Reader {
 public:
  Reader(RecordingSummary summary, profile::RecordVisitor& visitor)
      : summary_(std::move(summary)), visitor_(visitor), seen_(summary_.ranks.size()) {}

  /// False if the packet cannot be read.
  bool packet(std::string_view bytes) {
    try {
      read_packet(pbf_reader(bytes.data(), bytes.size()));
      return true;
    } catch (const protozero::exception&) {
      return false;
    }
  }

  RecordingSummary finish(const PacketStream& stream) {
    if (!stream.problem().empty()) {
      note(fmt::format("the trace ends early at byte {}: {}", stream.offset(), stream.problem()));
    }
    if (damaged_ > 0) note(fmt::format("{} packets cannot be read and were left out", damaged_));
    if (strange_ > 0) note(fmt::format("{} events are no records of a run", strange_));
    for (std::size_t rank = 0; rank < seen_.size(); ++rank) {
      profile::RankFile& file = summary_.ranks[rank];
      if (seen_[rank] < file.records) {
        note(fmt::format(
            "rank {}: {} of its {} records are in the trace", rank, seen_[rank], file.records));
        file.complete = false;
      }
      file.records = seen_[rank];
    }
    return std::move(summary_);
  }

  void count_damaged() { ++damaged_; }

 private:
  void note(std::string text) { summary_.notes.push_back(std::move(text)); }

  void read_packet(pbf_reader in) {
    std::uint64_t time_ns = 0;
    std::optional<PacketEvent> event;
    while (in.next()) {
      switch (in.tag_and_type()) {
        case key(field::packet::kTimestamp, kVarint):
          time_ns = in.get_uint64();
          break;
        case key(field::packet::kInternedData, kLength):
          intern(in.get_message());
          break;
        case key(field::packet::kTrackDescriptor, kLength):
          declare(parse_track(in.get_message()));
          break;
        case key(field::packet::kTrackEvent, kLength):
          event = parse_event(in.get_message());
          break;
        default:
          in.skip();
      }
    }
    if (!event) return;
    event->time_ns = time_ns;
    take(*event);
  }

  void intern(pbf_reader in) {
    while (in.next()) {
      auto* names = in.tag_and_type() == key(field::interned::kEventNames, kLength) ? &names_
                    : in.tag_and_type() == key(field::interned::kEventCategories, kLength)
                        ? &categories_
                    : in.tag_and_type() == key(field::interned::kDebugAnnotationNames, kLength)
                        ? &argument_names_
                        : nullptr;
      if (names == nullptr) {
        in.skip();
        continue;
      }
      auto [id, name] = parse_interned(in.get_message());
      if (names->size() < kMostNames) names->insert_or_assign(id, std::move(name));
    }
  }

  void declare(const PacketTrack& descriptor) {
    if (descriptor.id == 0 || rows_.size() >= kMostRows) return;
    Row row;
    if (descriptor.process) {
      row.kind = Row::Kind::kProcess;
      row.rank = rank_of_process(descriptor.name).value_or(-1);
    } else if (const auto parent = rows_.find(descriptor.parent); parent != rows_.end()) {
      row.rank = parent->second.rank;
      if (const auto block = parse_block_row(descriptor.name)) {
        row.kind = Row::Kind::kSpans;
        row.block = block->block;
        row.warp = block->warp;
      } else if (const auto put = parse_put_row(descriptor.name)) {
        row.kind = Row::Kind::kPuts;
        row.qp = put->qp;
      } else if (descriptor.name == kArrivalsRow) {
        row.kind = Row::Kind::kArrivals;
      }
    }
    if (row.rank >= summary_.run.shape.world) row = Row{};
    rows_.insert_or_assign(descriptor.id, row);
  }

  /// Op, peer, chunk and bytes: what all records have.
  template <typename Record>
  bool describe(const PacketEvent& event, Record& record) {
    const auto phase = record::parse_phase(look_up(categories_, event.category));
    if (!phase) return false;
    record.phase = *phase;
    for (const auto& [id, value] : event.arguments) {
      const std::string_view name = look_up(argument_names_, id);
      const bool small = value >= 0 && value <= std::numeric_limits<std::int32_t>::max();
      if (name == "op") {
        record.op = static_cast<std::uint32_t>(value);
      } else if (name == "bytes" && value >= 0) {
        record.bytes = static_cast<std::uint64_t>(value);
      } else if (name == "peer" && value >= 0 && value < summary_.run.shape.world) {
        record.peer = static_cast<std::int32_t>(value);
      } else if (name == "chunk" && small) {
        record.chunk = static_cast<std::int32_t>(value);
      } else if (name == "peer" || name == "chunk" || name == "bytes") {
        return false;
      }
    }
    return true;
  }

  [[nodiscard]] std::int64_t argument(const PacketEvent& event, std::string_view name) const {
    for (const auto& [id, value] : event.arguments) {
      if (look_up(argument_names_, id) == name) return value;
    }
    return 0;
  }

  using Names = std::unordered_map<std::uint64_t, std::string>;
  static std::string_view look_up(const Names& names, std::uint64_t id) {
    const auto found = names.find(id);
    return found == names.end() ? std::string_view() : std::string_view(found->second);
  }

  void take(const PacketEvent& event) {
    const auto found = rows_.find(event.row);
    if (found == rows_.end() || found->second.rank < 0) return;
    const Row& row = found->second;
    if (row.kind == Row::Kind::kArrivals && event.type == field::kInstant) {
      take_arrival(row, event);
    } else if (row.kind == Row::Kind::kSpans) {
      take_span(row, event);
    } else if (row.kind == Row::Kind::kPuts) {
      take_put(row, event);
    }
  }

  void take_arrival(const Row& row, const PacketEvent& event) {
    record::Arrival arrival;
    arrival.time_ns = event.time_ns;
    if (!describe(event, arrival)) {
      ++strange_;
      return;
    }
    visitor_.on_arrival(row.rank, arrival);
    ++seen_[static_cast<std::size_t>(row.rank)];
  }

  void take_span(const Row& row, const PacketEvent& event) {
    auto& open = spans_[event.row];
    if (event.type == field::kSliceBegin && open.size() < kMostOpen) {
      record::Span span;
      span.begin_ns = event.time_ns;
      span.block = static_cast<std::uint16_t>(row.block);
      span.warp = static_cast<std::uint16_t>(row.warp);
      const bool known =
          describe(event, span) && parse_span_name(look_up(names_, event.name), span);
      strange_ += known ? 0 : 1;
      open.emplace_back(span, known);
    } else if (event.type == field::kSliceEnd && !open.empty()) {
      auto [span, known] = open.back();
      open.pop_back();
      span.end_ns = event.time_ns;
      if (!known || span.end_ns < span.begin_ns) return;
      visitor_.on_span(row.rank, span);
      ++seen_[static_cast<std::size_t>(row.rank)];
    }
  }

  void take_put(const Row& row, const PacketEvent& event) {
    auto& open = puts_[event.row];
    if (event.type == field::kSliceEnd && open) {
      open->completed_ns = event.time_ns;
      if (event.time_ns >= open->posted_ns) send(row, *open);
      open.reset();
      return;
    }
    if (event.type != field::kSliceBegin && event.type != field::kInstant) return;
    record::Put put;
    put.posted_ns = event.time_ns;
    put.qp = static_cast<std::uint16_t>(row.qp);
    put.nic = static_cast<std::uint16_t>(argument(event, "nic"));
    const std::int64_t queued = argument(event, "queued_ns");
    if (queued > 0 && static_cast<std::uint64_t>(queued) <= put.posted_ns) {
      put.enqueued_ns = put.posted_ns - static_cast<std::uint64_t>(queued);
    }
    if (!describe(event, put)) {
      ++strange_;
    } else if (event.type == field::kInstant) {
      send(row, put);
    } else {
      open = put;
    }
  }

  void send(const Row& row, const record::Put& put) {
    visitor_.on_put(row.rank, put);
    ++seen_[static_cast<std::size_t>(row.rank)];
  }

  RecordingSummary summary_;
  profile::RecordVisitor& visitor_;
  std::unordered_map<std::uint64_t, Row> rows_;
  Names names_;
  Names categories_;
  Names argument_names_;
  std::unordered_map<std::uint64_t, std::vector<std::pair<record::Span, bool>>> spans_;
  std::unordered_map<std::uint64_t, std::optional<record::Put>> puts_;
  std::vector<std::uint64_t> seen_;  ///< Records, by rank.
  std::uint64_t damaged_ = 0;
  std::uint64_t strange_ = 0;
};

}  // namespace

bool is_exported_run(HeadSource& source) {
  const auto first = first_packet(source);
  return first && description_in(*first).find("\"shunt.export/") != std::string::npos;
}

Result<RecordingSummary> read_exported_run(ByteSource& source,
                                           const std::string& name,
                                           profile::RecordVisitor& visitor) {
  PacketStream stream(source);
  const auto first = stream.next();
  const std::string description = first ? description_in(*first) : std::string();
  if (description.empty()) {
    return fail(ErrorCode::kCorrupt,
                ErrorScope::kOperation,
                "{} does not begin with the description of a run: only traces that 'shunt export "
                "--perfetto' wrote can be read back{}",
                name,
                stream.problem().empty() ? "" : fmt::format(" ({})", stream.problem()));
  }
  auto summary = profile::summary_from_json(description, name);
  if (!summary) return summary;
  Reader reader(std::move(*summary), visitor);
  while (const auto packet = stream.next()) {
    if (!reader.packet(*packet)) reader.count_damaged();
  }
  return reader.finish(stream);
}

}  // namespace shunt::trace
