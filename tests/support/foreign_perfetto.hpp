// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Perfetto traces as other writers make them, message by message.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include <protozero/pbf_writer.hpp>

#include "trace/perfetto_fields.hpp"

namespace shunt::testing {

using protozero::pbf_writer;

/// The bytes of one message.
inline std::string message(const std::function<void(pbf_writer&)>& fill) {
  std::string bytes;
  pbf_writer out(bytes);
  fill(out);
  return bytes;
}

/// A packet of a trace; `fill` writes its fields.
inline std::string packet(const std::function<void(pbf_writer&)>& fill) {
  return message(
      [&](pbf_writer& out) { out.add_message(trace::field::trace::kPacket, message(fill)); });
}

/// One reading of a ClockSnapshot.
inline std::string reading(std::uint32_t clock,
                           std::uint64_t stamp,
                           bool incremental = false,
                           std::uint64_t unit_ns = 0) {
  namespace f = trace::field::clock_snapshot;
  return message([&](pbf_writer& out) {
    out.add_uint32(f::kClockId, clock);
    out.add_uint64(f::kTimestamp, stamp);
    if (incremental) out.add_bool(f::kIsIncremental, true);
    if (unit_ns != 0) out.add_uint64(f::kUnitMultiplierNs, unit_ns);
  });
}

/// An entry of InternedData.
inline std::string entry(std::uint64_t id, const std::string& name) {
  return message([&](pbf_writer& out) {
    out.add_uint64(trace::field::interned::kIid, id);
    out.add_string(trace::field::interned::kName, name);
  });
}

}  // namespace shunt::testing
