// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Chrome JSON traces of any producer. in: bytes → out: one call an event, in file order, in bounded
// memory. Times become integer nanoseconds from their digits, never through a double.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shunt/result.hpp"
#include "trace/chrome/byte_source.hpp"

namespace shunt::trace {

/// One event; views are valid during the call only. Absent fields are zero or empty.
struct ChromeEvent {
  std::string_view name;
  std::string_view category;
  char phase = 0;  ///< 'X', 'B', 'E', 'i' …
  std::int64_t ts_ns = 0;
  std::int64_t dur_ns = 0;
  std::int64_t pid = 0;  ///< A string pid is hashed.
  std::int64_t tid = 0;
  // Arguments that comparable producers write (Kineto and NCCL's annotations).
  std::int64_t bytes = 0;         ///< "bytes"
  std::int64_t first_dim = 0;     ///< First dimension product of "Input Dims"[0]
  std::int64_t second_dim = 0;    ///< … of "Input Dims"[1]
  std::int64_t in_elements = 0;   ///< "In msg nelems"
  std::int64_t out_elements = 0;  ///< "Out msg nelems"
  std::int64_t group_size = 0;    ///< "Group size"
  std::string_view element_type;  ///< "dtype", or the first of "Input type"
  std::string_view collective;    ///< "Collective name"
};

/// One more factor of a product of dimensions (0: none yet); stays as it is where it would not fit.
void multiply_dim(std::int64_t& product, std::int64_t factor);

/// What stands beside the events.
struct ChromeHeader {
  std::optional<int> rank;   ///< distributedInfo.rank
  std::optional<int> world;  ///< distributedInfo.world_size
  std::int64_t base_ns = 0;  ///< baseTimeNanoseconds; 0 if absent
};

class ChromeVisitor {
 public:
  virtual ~ChromeVisitor() = default;
  virtual void event(const ChromeEvent& event) = 0;
};

struct ChromeSummary {
  std::string format = "Chrome JSON";
  ChromeHeader header;
  std::uint64_t events = 0;
  std::uint64_t bytes = 0;                     ///< After decompression.
  std::optional<std::uint64_t> ends_early_at;  ///< Byte at which it breaks off or is broken.
  std::string problem;                         ///< The parser's words for it.
  std::vector<std::string> notes;              ///< What else could not be read as written.
};

/// Fails only if no event could be read; what was complete before damage counts.
[[nodiscard]] Result<ChromeSummary> read_chrome(ByteSource& source, ChromeVisitor& visitor);

/// "1682725898103248", "12.345", "1e3" (µs) → ns, digits beyond ns rounded; nullopt if no number or
/// out of range.
[[nodiscard]] std::optional<std::int64_t> microseconds_to_ns(std::string_view text);

}  // namespace shunt::trace
