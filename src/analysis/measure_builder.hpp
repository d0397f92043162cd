// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Records → Measures. Feed it to profile::read_run(), then finish() with what the reader returned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "analysis/measures.hpp"
#include "profile/recording.hpp"

namespace shunt::analysis {

struct Accumulated;

/// One pass, one thread. Memory: operations · ranks · phases, plus a bounded number of puts kept
/// for pairing; where a run has more, every second operation is let go, then every fourth, and so
/// on, so that those kept stay evenly spaced.
class MeasureBuilder final : public profile::RecordVisitor {
 public:
  /// `max_events`: puts and arrivals kept for pairing at one time, 24 bytes each.
  explicit MeasureBuilder(std::size_t max_events = 2'000'000);
  ~MeasureBuilder() override;
  MeasureBuilder(const MeasureBuilder&) = delete;
  MeasureBuilder& operator=(const MeasureBuilder&) = delete;

  void on_span(int rank, const record::Span& span) override;
  void on_put(int rank, const record::Put& put) override;
  void on_arrival(int rank, const record::Arrival& arrival) override;

  /// Works on what there is: a missing rank, a killed rank or an empty run give fewer measures and
  /// notes that say so, never an error.
  [[nodiscard]] Measures finish(const profile::RecordingSummary& recording) const;

 private:
  void keep_event(
      std::uint32_t op, int source, int target, int chunk, std::uint64_t time, bool arrival);

  std::unique_ptr<Accumulated> seen_;
  std::size_t max_events_;
  std::size_t events_ = 0;
  std::uint32_t stride_ = 1;  ///< Operations with op / 2 mod stride == 0 keep their puts.
};

}  // namespace shunt::analysis
