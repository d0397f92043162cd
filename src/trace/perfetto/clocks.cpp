// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "trace/perfetto/clocks.hpp"

#include <algorithm>
#include <vector>

#include "trace/perfetto_fields.hpp"
#include "trace/perfetto_packets.hpp"

namespace shunt::trace {
namespace {

constexpr std::size_t kMostClocks = std::size_t{1} << 17;
constexpr std::uint32_t kRealtime = 1;
/// Wall clock times stay below it until the year 2116; differences of two such times fit.
constexpr std::int64_t kMostTime = std::int64_t{1} << 62;

struct Reading {
  std::uint32_t clock = 0;
  std::uint64_t stamp = 0;
  std::uint64_t unit = 1;
  bool incremental = false;

  /// Meaningless where it does not fit; place() tells.
  [[nodiscard]] std::int64_t ns() const { return static_cast<std::int64_t>(stamp * unit); }
};

Reading parse_reading(protozero::pbf_reader in) {
  Reading out;
  while (in.next()) {
    switch (in.tag_and_type()) {
      case key(field::clock_snapshot::kClockId, kVarint):
        out.clock = in.get_uint32();
        break;
      case key(field::clock_snapshot::kTimestamp, kVarint):
        out.stamp = in.get_uint64();
        break;
      case key(field::clock_snapshot::kIsIncremental, kVarint):
        out.incremental = in.get_bool();
        break;
      case key(field::clock_snapshot::kUnitMultiplierNs, kVarint):
        out.unit = std::max<std::uint64_t>(1, in.get_uint64());
        break;
      default:
        in.skip();
    }
  }
  return out;
}

bool in_range(std::uint64_t stamp, std::uint64_t unit) {
  std::uint64_t ns = 0;
  return !__builtin_mul_overflow(stamp, unit, &ns) && ns < static_cast<std::uint64_t>(kMostTime);
}

}  // namespace

Clocks::Clock* Clocks::find(std::uint32_t sequence, std::uint32_t clock) {
  const bool local = clock >= field::kFirstSequenceClock && clock <= field::kLastSequenceClock;
  const std::uint64_t id = (local ? std::uint64_t{sequence} << 32 : 0) | clock;
  if (clocks_.size() >= kMostClocks && clocks_.count(id) == 0) return nullptr;
  return &clocks_[id];
}

void Clocks::snapshot(std::uint32_t sequence, protozero::pbf_reader in) {
  std::vector<Reading> readings;
  std::uint32_t primary = field::kClockBoottime;
  while (in.next()) {
    if (in.tag_and_type() == key(field::clock_snapshot::kClocks, kLength)) {
      const Reading reading = parse_reading(in.get_message());
      if (in_range(reading.stamp, reading.unit)) readings.push_back(reading);
    } else if (in.tag_and_type() == key(field::clock_snapshot::kPrimaryTraceClock, kVarint)) {
      primary = in.get_uint32();
    } else {
      in.skip();
    }
  }
  if (readings.empty()) return;
  // The reading that places the others: of a clock already on the axis, or of the axis itself.
  const auto with = [&readings](auto&& wanted) {
    return std::find_if(readings.begin(), readings.end(), wanted);
  };
  auto base = with([&](const Reading& reading) {
    const Clock* clock = find(sequence, reading.clock);
    return clock != nullptr && clock->placed && !clock->incremental;
  });
  for (const std::uint32_t wanted : {kRealtime, primary, readings.front().clock}) {
    if (base != readings.end()) break;
    base = with([wanted](const Reading& reading) { return reading.clock == wanted; });
  }
  if (base == readings.end()) return;
  Clock* reference = find(sequence, base->clock);
  if (reference == nullptr) return;
  if (!reference->placed) {
    reference->placed = true;
    ++loose_;
  }
  const std::int64_t moment = base->ns() + reference->offset;
  if (moment < 0 || moment >= kMostTime) return;
  for (const Reading& reading : readings) {
    Clock* clock = find(sequence, reading.clock);
    if (clock == nullptr) continue;
    if (reading.clock != base->clock) clock->offset = moment - reading.ns();
    clock->placed = true;
    clock->unit = reading.unit;
    clock->incremental = reading.incremental;
    clock->last = reading.stamp;
  }
}

std::optional<std::int64_t> Clocks::to_ns(std::uint32_t sequence,
                                          std::uint32_t id,
                                          std::uint64_t stamp) {
  Clock* clock = find(sequence, id);
  if (clock == nullptr) return std::nullopt;
  if (!clock->placed) {
    clock->placed = true;
    ++loose_;
  }
  std::uint64_t ticks = stamp;
  if (clock->incremental) {
    if (__builtin_add_overflow(clock->last, stamp, &ticks)) return std::nullopt;
    clock->last = ticks;
  }
  if (!in_range(ticks, clock->unit)) return std::nullopt;
  std::int64_t ns = 0;
  if (__builtin_add_overflow(static_cast<std::int64_t>(ticks * clock->unit), clock->offset, &ns) ||
      ns < 0 || ns >= kMostTime) {
    return std::nullopt;
  }
  return ns;
}

}  // namespace shunt::trace
