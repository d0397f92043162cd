// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// A TrackEvent of anybody's, as it stands in its packet. Private to trace/. All throw
// protozero::exception on damage; views live as long as the packet and the sequence's names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <protozero/pbf_reader.hpp>

#include "trace/chrome/chrome_reader.hpp"
#include "trace/perfetto/interned.hpp"

namespace shunt::trace {

struct TrackEvent {
  int type = 0;    ///< field::kSliceBegin …; 0: `phase` says it.
  char phase = 0;  ///< Of Chrome's letters, where the event came from such a trace.
  std::string_view name;
  std::string_view category;
  std::optional<std::uint64_t> track;
  std::optional<std::int64_t> pid;  ///< In whose name it was written, where not the writer's.
  std::optional<std::int64_t> tid;
  std::optional<std::uint64_t> id;  ///< Of pairs that are no thread's.
  std::string_view id_scope;
  std::optional<std::int64_t> delta_us;  ///< From the event before.
  std::optional<std::int64_t> absolute_us;
  std::int64_t duration_us = 0;
  std::vector<protozero::data_view> arguments;  ///< DebugAnnotations.
};

[[nodiscard]] TrackEvent parse_track_event(protozero::pbf_reader in, const Interned& names);

/// What of the arguments a ChromeEvent has a place for. `texts` keeps what `event` then views.
struct ArgumentTexts {
  std::string element_type;
  std::string collective;
};
void take_arguments(const TrackEvent& from,
                    const Interned& names,
                    ArgumentTexts& texts,
                    ChromeEvent& event);

}  // namespace shunt::trace
