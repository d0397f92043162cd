// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// The 32-bit immediate of a put, and the channels that give it meaning. A channel is a ring of
// `capacity` slots from one source to one target; its messages have sequence numbers 0, 1, 2 … for
// the life of a Buffer. An immediate names ring position and lap; both sides widen it to 64 bits
// from what they know, so nothing is ever reset and order between puts does not matter.
#pragma once

#include <cstdint>
#include <vector>

namespace shunt::fabric {

/// Three bits on the wire, never renumber.
enum class SignalKind : std::uint8_t {
  kDispatchChunk = 0,
  kCombineChunk = 1,
  kCount = 2,
  kDispatchCredit = 3,
  kCombineCredit = 4,
  kCountCredit = 5,
  kHeartbeat = 6,
  kControl = 7,
};

/// Kinds that carry data, with a credit kind each: kind + kCreditOffset.
inline constexpr int kChannelKinds = 3;
inline constexpr int kCreditOffset = 3;

inline constexpr std::uint32_t kSlotBits = 21;
inline constexpr std::uint32_t kMaxSlots = 1U << kSlotBits;

/// kind (3 bits) | slot (21) | lap (8). The slot names source and ring position (or, for heartbeat
/// and control, the source alone; control carries its word in `lap`).
struct Signal {
  SignalKind kind = SignalKind::kHeartbeat;
  std::uint32_t slot = 0;
  std::uint8_t lap = 0;
  friend constexpr bool operator==(const Signal&, const Signal&) = default;
};

[[nodiscard]] constexpr std::uint32_t encode(const Signal& signal) {
  return (static_cast<std::uint32_t>(signal.kind) << 29) | ((signal.slot & (kMaxSlots - 1)) << 8) |
         signal.lap;
}

[[nodiscard]] constexpr Signal decode(std::uint32_t immediate) {
  return {static_cast<SignalKind>(immediate >> 29),
          (immediate >> 8) & (kMaxSlots - 1),
          static_cast<std::uint8_t>(immediate & 0xffU)};
}

/// The signal of sequence number `sequence` in the channel of source `source`.
[[nodiscard]] constexpr Signal signal_of(SignalKind kind,
                                         std::uint32_t source,
                                         std::uint32_t capacity,
                                         std::uint64_t sequence) {
  return {kind,
          source * capacity + static_cast<std::uint32_t>(sequence % capacity),
          static_cast<std::uint8_t>((sequence / capacity) & 0xffU)};
}

/// What became of a received ring position and lap.
struct Widened {
  enum class Kind : std::uint8_t {
    kAccepted,  ///< `sequence` is inside the window.
    kStale,     ///< From the past: a duplicate or an overtaken message. Changes nothing.
    kViolation  ///< From a future that the credits did not allow: the peer is wrong.
  };
  Kind kind = Kind::kViolation;
  std::uint64_t sequence = 0;
};

/// The sequence number in [begin, begin + capacity) at `position`, if its lap is `lap`.
[[nodiscard]] constexpr Widened widen(std::uint64_t begin,
                                      std::uint32_t capacity,
                                      std::uint32_t position,
                                      std::uint8_t lap) {
  const auto offset =
      static_cast<std::uint32_t>((position + capacity - begin % capacity) % capacity);
  const std::uint64_t sequence = begin + offset;
  const auto ahead = static_cast<std::int8_t>(
      static_cast<std::uint8_t>(lap - static_cast<std::uint8_t>((sequence / capacity) & 0xffU)));
  if (ahead == 0) return {Widened::Kind::kAccepted, sequence};
  return {ahead < 0 ? Widened::Kind::kStale : Widened::Kind::kViolation, 0};
}

/// Target side of a channel: which sequence numbers may land, which have been consumed. Owned by
/// the progress thread.
class ReceiverChannel {
 public:
  explicit ReceiverChannel(std::uint32_t capacity) : capacity_(capacity), consumed_(capacity, 0) {}

  [[nodiscard]] Widened arrive(std::uint32_t position, std::uint8_t lap) const {
    return widen(released_, capacity_, position, lap);
  }
  /// The consumer is done with `sequence`; chunks may be consumed in any order. Returns false if it
  /// lies outside the window (a bug of the consumer).
  bool consume(std::uint64_t sequence) {
    if (sequence < released_ || sequence >= released_ + capacity_) return false;
    consumed_[sequence % capacity_] = sequence + 1;
    while (consumed_[released_ % capacity_] == released_ + 1) ++released_;
    return true;
  }
  /// Everything below is consumed: the cumulative credit that the source may be told.
  [[nodiscard]] std::uint64_t released() const { return released_; }
  [[nodiscard]] std::uint32_t capacity() const { return capacity_; }

 private:
  std::uint32_t capacity_;
  std::uint64_t released_ = 0;
  std::vector<std::uint64_t> consumed_;  // By position: the latest consumed sequence number + 1.
};

/// Source side of a channel: the cumulative credit known. Owned by the progress thread.
class SenderChannel {
 public:
  explicit SenderChannel(std::uint32_t capacity) : capacity_(capacity) {}

  /// A credit signal. Accepted values lie in [credit, credit + capacity]; the returned sequence is
  /// the new cumulative credit, and credit() grows to it.
  Widened credit(std::uint32_t position, std::uint8_t lap) {
    Widened got = widen(credit_, capacity_, position, lap);
    if (got.kind == Widened::Kind::kViolation && position == credit_ % capacity_) {
      // A full ring was released at once: the same position, one lap on.
      got = widen(credit_ + capacity_, capacity_, position, lap);
    }
    if (got.kind == Widened::Kind::kAccepted) credit_ = got.sequence;
    return got;
  }
  [[nodiscard]] bool may_send(std::uint64_t sequence) const {
    return sequence < credit_ + capacity_;
  }
  [[nodiscard]] std::uint64_t credit() const { return credit_; }

 private:
  std::uint32_t capacity_;
  std::uint64_t credit_ = 0;
};

}  // namespace shunt::fabric
