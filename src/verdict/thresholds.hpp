// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// The numbers that rules on own runs decide by, each with its reason. docs/findings/ repeats them.
#pragma once

#include <cstdint>

namespace shunt::verdict {

/// Wire utilisation from which a link is full. Large messages reach 0.90–0.95 of a rating after
/// protocol overhead (TCP at MTU 1500: at most 1448/1514 = 0.956), so 0.85 leaves a tenth of it.
inline constexpr double kFull = 0.85;
/// Below this a link is underused. Between the two it is "close to full": neither verdict.
inline constexpr double kUnderused = 0.80;

/// Share of a link's rating that a batch should allow: bytes / (bytes + rating · latency).
inline constexpr double kWantedBound = 0.90;

/// What fits in the token bucket of `--emulate-link` passes at once. Where that is more than this
/// share of an operation's bytes, the rate in their window says nothing about the link.
inline constexpr double kBurstHidesRate = 0.025;
/// And from this share on the batch counts as too small to load the link.
inline constexpr double kBurstIsBatch = 0.1;

/// Puts smaller than this cost 2–4 × the processor time per byte on TCP, and too many queue
/// entries per byte on NICs.
inline constexpr double kSmallPutBytes = 64 * 1024;

/// "≫" between two spans.
inline constexpr double kMuchLonger = 2.0;
/// A wait share from which a phase waits rather than works.
inline constexpr double kMostly = 0.5;
/// Few: chunks a rank sends to one node in an operation. Fewer cannot overlap send with receive.
inline constexpr double kFewChunks = 4;
/// Share of an operation that makes a side matter worth a finding.
inline constexpr double kMaterial = 0.10;
/// A rank is slow when its own time exceeds the others' median by this factor.
inline constexpr double kSlowRank = 1.5;
/// The first iteration is cold when it takes this much longer than the median of the others.
inline constexpr double kCold = 1.5;
/// Counter against frames: 2 % is the goal, 5 % the finding.
inline constexpr double kCounterTolerance = 0.05;
/// Messages of a rank and peer that may lie on the other side of a counter's reading than of the
/// records: a heartbeat and a credit, at either of two readings.
inline constexpr double kEdgeMessages = 4;
/// Such a message: 48 B of header in a frame, and the acknowledgement (66 B each beside it).
inline constexpr double kEdgeMessageBytes = 180;
/// Puts are posted until this share of the window has passed: the sender sets the pace.
inline constexpr double kPostedLate = 0.7;

}  // namespace shunt::verdict
