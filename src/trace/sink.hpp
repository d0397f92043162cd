// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Where an exported timeline goes. in: tracks, slices, instants, counters in the order the exporter
// gives them → out: a file in one viewer's format.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "base/file.hpp"
#include "shunt/result.hpp"

namespace shunt::trace {

/// A row of the viewer. Declared once, before its first event.
struct Track {
  enum class Kind { kProcess, kThread, kCounter };
  std::uint64_t id = 0;      ///< Never 0.
  std::uint64_t parent = 0;  ///< 0 for a process.
  std::int32_t pid = 0;      ///< Of the process it belongs to.
  std::int32_t order = 0;    ///< Position among the children of its parent, ascending.
  Kind kind = Kind::kThread;
  std::string name;
  std::string unit;  ///< Of a counter.
};

struct Argument {
  const char* name;  ///< From a closed list: writers intern it by its text.
  std::int64_t value;
};

/// Something that happened on a track; names are from closed lists.
struct Event {
  std::uint64_t track = 0;
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;  ///< Equal to begin_ns for an instant.
  const char* name = "";
  const char* category = "";
  std::array<Argument, 6> arguments{};
  std::uint32_t argument_count = 0;
  std::uint64_t flow = 0;  ///< Arrow that starts (or ends) here; 0: none.
  bool flow_ends_here = false;

  void add(const char* argument, std::int64_t value) {
    arguments[argument_count++] = {argument, value};
  }
};

/// Takes events of one track so that they nest: begin(a) begin(b) end(b) end(a), ends in between as
/// time passes them. Tracks may alternate. A failed write stays; finish() reports it.
class TraceSink {
 public:
  virtual ~TraceSink() = default;
  virtual void declare(const Track& track) = 0;
  virtual void begin(const Event& event) = 0;
  virtual void end(const Event& event) = 0;
  virtual void instant(const Event& event) = 0;
  virtual void counter(std::uint64_t track, std::uint64_t time_ns, std::int64_t value) = 0;
  /// Completes the file: it appears under its name now.
  [[nodiscard]] virtual Status finish() = 0;
  /// False once a write has failed: nothing more need be sent.
  [[nodiscard]] virtual bool ok() const = 0;
};

/// What a file says about its run, beside events.
struct TraceHeader {
  std::uint64_t base_ns = 0;  ///< The earliest time of the run: Chrome JSON is relative to it.
  std::string tool_version;
  std::string started;
  std::string description;  ///< The run and the state of its ranks: profile::to_json().
};

/// Perfetto TrackEvent protobuf: integer ns, explicit order of tracks, arrows.
[[nodiscard]] std::unique_ptr<TraceSink> make_perfetto_sink(OutputFile file,
                                                            const TraceHeader& header);
/// Chrome's JSON object format: µs with three decimals, exact to the ns, relative to base_ns.
[[nodiscard]] std::unique_ptr<TraceSink> make_chrome_sink(OutputFile file,
                                                          const TraceHeader& header);

}  // namespace shunt::trace
