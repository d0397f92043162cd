// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Begins that wait for their ends, by track. Private to trace/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "trace/chrome/chrome_reader.hpp"

namespace shunt::trace {

class OpenSpans {
 public:
  explicit OpenSpans(ChromeVisitor& visitor) : visitor_(visitor) {}

  void begin(std::uint64_t track, const ChromeEvent& event);
  void end(std::uint64_t track, const ChromeEvent& event);
  /// Passes on the begins that never ended. Once, at the end of the trace.
  void finish();

  /// Begins that came before an open one of their track: nesting is then a guess.
  [[nodiscard]] std::uint64_t disordered() const { return disordered_; }
  [[nodiscard]] std::uint64_t left_out() const { return left_out_; }

 private:
  /// An event that owns its texts.
  struct Open {
    ChromeEvent event;
    std::string name;
    std::string category;
    std::string element_type;
    std::string collective;

    [[nodiscard]] ChromeEvent view() const;
  };

  ChromeVisitor& visitor_;
  std::unordered_map<std::uint64_t, std::vector<Open>> open_;
  std::uint64_t disordered_ = 0;
  std::uint64_t left_out_ = 0;
};

}  // namespace shunt::trace
