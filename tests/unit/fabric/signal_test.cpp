// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Signals and channels against an obvious reference: sequence numbers that never wrap, and sets.
#include "fabric/signal.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"

namespace shunt::fabric {
namespace {

using Kind = Widened::Kind;

TEST(Signal, EveryFieldSurvivesTheWire) {
  Random random(1);
  for (int kind = 0; kind < 8; ++kind) {
    for (const std::uint32_t slot : {0U, 1U, 255U, 256U, 65'536U, kMaxSlots - 1}) {
      for (int lap = 0; lap < 256; ++lap) {
        const Signal signal{static_cast<SignalKind>(kind), slot, static_cast<std::uint8_t>(lap)};
        ASSERT_EQ(decode(encode(signal)), signal);
      }
    }
  }
  for (int i = 0; i < 100'000; ++i) {
    const auto immediate = static_cast<std::uint32_t>(random.next());
    ASSERT_EQ(encode(decode(immediate)), immediate);
  }
}

TEST(Signal, FieldsStandWhereTheFormatSays) {
  EXPECT_EQ(encode({SignalKind::kControl, 0, 0}), 0xe000'0000U);
  EXPECT_EQ(encode({SignalKind::kDispatchChunk, kMaxSlots - 1, 0}), 0x1fff'ff00U);
  EXPECT_EQ(encode({SignalKind::kDispatchChunk, 0, 0xff}), 0x0000'00ffU);
  EXPECT_EQ(signal_of(SignalKind::kCount, 3, 10, 25), (Signal{SignalKind::kCount, 35, 2}));
  EXPECT_EQ(signal_of(SignalKind::kCount, 0, 1, 256), (Signal{SignalKind::kCount, 0, 0}));
}

class Channels : public ::testing::TestWithParam<std::uint32_t> {
 protected:
  std::uint32_t capacity() const { return GetParam(); }
  std::uint32_t position(std::uint64_t sequence) const {
    return static_cast<std::uint32_t>(sequence % capacity());
  }
  std::uint8_t lap(std::uint64_t sequence) const {
    return signal_of(SignalKind::kCount, 0, capacity(), sequence).lap;
  }
};
INSTANTIATE_TEST_SUITE_P(Capacities,
                         Channels,
                         ::testing::Values(1U, 2U, 3U, 8U, 100U),
                         [](const auto& tested) { return std::to_string(tested.param); });

TEST_P(Channels, WidenFindsEverySequenceOfTheWindowOverManyLaps) {
  const std::uint64_t laps[] = {0, 1, 2, 127, 128, 254, 255, 256, 257, 511, 512, 1ULL << 20};
  for (const std::uint64_t base : laps) {
    for (std::uint64_t shift = 0; shift < capacity(); ++shift) {
      const std::uint64_t begin = base * capacity() + shift;
      for (std::uint64_t ahead = 0; ahead < capacity(); ++ahead) {
        const std::uint64_t sequence = begin + ahead;
        const Widened got = widen(begin, capacity(), position(sequence), lap(sequence));
        ASSERT_EQ(got.kind, Kind::kAccepted);
        ASSERT_EQ(got.sequence, sequence);
      }
    }
  }
}

TEST_P(Channels, WidenTellsThePastFromTheForbiddenFuture) {
  // Within half the lap's range: 128 rings back and 127 ahead.
  const std::uint64_t begin = 1000ULL * capacity() + capacity() / 2;
  for (std::uint64_t back = 1; back <= 128ULL * capacity(); ++back) {
    const std::uint64_t old = begin - back;
    ASSERT_EQ(widen(begin, capacity(), position(old), lap(old)).kind, Kind::kStale) << back;
  }
  for (std::uint64_t ahead = capacity(); ahead < 128ULL * capacity(); ++ahead) {
    const std::uint64_t wild = begin + ahead;
    ASSERT_EQ(widen(begin, capacity(), position(wild), lap(wild)).kind, Kind::kViolation) << ahead;
  }
}

/// What a signal of `sequence` must be to a window [begin, end).
Kind expected(std::uint64_t sequence, std::uint64_t begin, std::uint64_t end) {
  if (sequence < begin) return Kind::kStale;
  return sequence < end ? Kind::kAccepted : Kind::kViolation;
}

/// A sequence number near `center`, up to `laps` rings away.
std::uint64_t near(Random& random, std::uint64_t center, std::uint32_t capacity, int laps) {
  const auto reach = static_cast<std::uint64_t>(laps) * capacity;
  const std::uint64_t low = center - std::min(center, reach);
  return low + random.below(center + reach - low);
}

TEST_P(Channels, ReceiverAgreesWithASetForAnyOrder) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    ReceiverChannel channel(capacity());
    std::set<std::uint64_t> consumed;  // Those at or above `released`.
    std::uint64_t released = 0;
    // 600 laps: the lap of the wire wraps twice.
    while (released < 600ULL * capacity()) {
      const std::uint64_t probe = near(random, released, capacity(), 100);
      const Widened got = channel.arrive(position(probe), lap(probe));
      ASSERT_EQ(got.kind, expected(probe, released, released + capacity())) << probe;
      if (got.kind == Kind::kAccepted) {
        ASSERT_EQ(got.sequence, probe);
      }
      const std::uint64_t wanted = released + random.below(capacity());
      ASSERT_TRUE(channel.consume(wanted));
      consumed.insert(wanted);
      while (consumed.erase(released) != 0) ++released;
      ASSERT_EQ(channel.released(), released);
    }
  }
}

TEST_P(Channels, ReceiverRefusesConsumptionOutsideItsWindow) {
  ReceiverChannel channel(capacity());
  ASSERT_FALSE(channel.consume(capacity()));
  for (std::uint64_t s = 0; s < 300ULL * capacity(); ++s) ASSERT_TRUE(channel.consume(s));
  const std::uint64_t released = channel.released();
  ASSERT_FALSE(channel.consume(released - 1));
  ASSERT_FALSE(channel.consume(released + capacity()));
  ASSERT_EQ(channel.released(), released);
}

TEST_P(Channels, SenderAgreesWithTheGreatestCreditForAnyOrder) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    SenderChannel channel(capacity());
    std::uint64_t credit = 0;
    std::uint64_t violations = 0;
    while (credit < 600ULL * capacity()) {
      const std::uint64_t told = near(random, credit, capacity(), 3 + static_cast<int>(seed % 90));
      const Widened got = channel.credit(position(told), lap(told));
      // A full ring may be released at once: the window is one wider than for data.
      const Kind want = expected(told, credit, credit + capacity() + 1);
      ASSERT_EQ(got.kind, want) << told << " over " << credit;
      if (want == Kind::kAccepted) credit = told;
      violations += want == Kind::kViolation ? 1 : 0;
      ASSERT_EQ(channel.credit(), credit);
      ASSERT_TRUE(channel.may_send(credit + capacity() - 1));
      ASSERT_FALSE(channel.may_send(credit + capacity()));
    }
    EXPECT_GT(violations, 0U);
  }
}

/// Both ends over a network that reorders and duplicates: nothing is lost, nothing is invented.
TEST_P(Channels, EndToEndOverADisorderlyNetwork) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Random random(seed);
    SenderChannel sender(capacity());
    ReceiverChannel receiver(capacity());
    const std::uint64_t total = 300ULL * capacity() + 7;
    std::uint64_t sent = 0;
    std::vector<std::uint64_t> data;     // Signals on the way, as sequence numbers.
    std::vector<std::uint64_t> credits;  // Likewise.
    std::set<std::uint64_t> waiting;     // Arrived, not consumed.
    std::uint64_t consumed = 0;
    const auto take = [&](std::vector<std::uint64_t>& from) {
      const std::size_t at = random.below(from.size());
      const std::uint64_t value = from[at];
      if (random.below(4) != 0) from.erase(from.begin() + static_cast<std::ptrdiff_t>(at));
      return value;
    };
    while (receiver.released() < total || !data.empty() || !credits.empty()) {
      switch (random.below(4)) {
        case 0:
          if (sent < total && sender.may_send(sent)) data.push_back(sent++);
          break;
        case 1: {
          if (data.empty()) break;
          const std::uint64_t sequence = take(data);
          const Widened got = receiver.arrive(position(sequence), lap(sequence));
          ASSERT_NE(got.kind, Kind::kViolation);
          if (got.kind == Kind::kAccepted) {
            ASSERT_EQ(got.sequence, sequence);
            waiting.insert(sequence);
          }
          break;
        }
        case 2: {
          // A duplicate makes a consumed number wait again: consuming it twice changes nothing.
          if (waiting.empty()) break;
          auto it = waiting.begin();
          std::advance(it, static_cast<std::ptrdiff_t>(random.below(waiting.size())));
          if (receiver.consume(*it)) {
            ++consumed;
            credits.push_back(receiver.released());
          }
          waiting.erase(it);
          break;
        }
        default: {
          if (credits.empty()) break;
          const std::uint64_t told = take(credits);
          ASSERT_NE(sender.credit(position(told), lap(told)).kind, Kind::kViolation);
        }
      }
    }
    EXPECT_EQ(sender.credit(), total);
    EXPECT_GE(consumed, total);
  }
}

}  // namespace
}  // namespace shunt::fabric
