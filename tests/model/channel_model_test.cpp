// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "channel_model.hpp"

#include <iostream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shunt::model {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::vector<std::pair<int, int>> kOneWay{{0, 1}};
const std::vector<std::pair<int, int>> kBothWays{{0, 1}, {1, 0}};
const std::vector<std::pair<int, int>> kCircle{{0, 1}, {1, 2}, {2, 0}};
const std::vector<std::pair<int, int>> kFan{{0, 1}, {0, 2}};

struct Named {
  const char* name;
  ChannelCase c;
  friend std::ostream& operator<<(std::ostream& out, const Named& named) {
    return out << named.name;
  }
};

Exploration run(const ChannelCase& c) {
  const Exploration found = explore(ChannelModel(c));
  std::cout << found.states << " states, " << found.steps << " steps, longest path "
            << found.longest << ", terminal: " << found.complete << " complete, " << found.waiting
            << " waiting\n";
  return found;
}

class EveryInterleaving : public ::testing::TestWithParam<Named> {};

TEST_P(EveryInterleaving, ConsumesEachChunkOnceWithItsOwnDataAndEnds) {
  const ChannelCase& c = GetParam().c;
  const Exploration found = run(c);
  EXPECT_THAT(found.failure, IsEmpty());
  EXPECT_GT(found.complete, 0U);
  // A loss may end in a wait (a time-out of the library), but nothing else may.
  if (c.losses == 0) {
    EXPECT_EQ(found.waiting, 0U);
  } else {
    EXPECT_GT(found.waiting, 0U);
  }
}

// 254 laps before the first step: the lap on the wire wraps within the case.
INSTANTIATE_TEST_SUITE_P(
    Cases,
    EveryInterleaving,
    ::testing::Values(
        Named{"one_slot", {.links = kOneWay, .chunks = {3, 0, 2}, .laps_before = 254}},
        Named{"two_slots",
              {.links = kOneWay,
               .chunks = {3, 2},
               .capacity = 2,
               .count_capacity = 2,
               .laps_before = 254}},
        Named{"duplicates",
              {.links = kOneWay,
               .chunks = {3, 1},
               .capacity = 2,
               .laps_before = 255,
               .duplicates = 2}},
        Named{"losses", {.links = kOneWay, .chunks = {3, 2}, .capacity = 2, .losses = 2}},
        Named{"losses_and_duplicates",
              {.links = kOneWay, .chunks = {3, 1}, .capacity = 2, .duplicates = 1, .losses = 1}},
        Named{"both_ways", {.links = kBothWays, .chunks = {2, 1}, .laps_before = 254}},
        Named{"both_ways_with_faults",
              {.links = kBothWays, .chunks = {2}, .duplicates = 1, .losses = 1}},
        Named{"fan_out", {.links = kFan, .chunks = {2, 0, 1}}},
        Named{"circle_of_three", {.links = kCircle, .chunks = {1}, .laps_before = 255}}),
    [](const auto& tested) { return tested.param.name; });

class Mistakes : public ::testing::TestWithParam<Named> {};

// The model can fail: what each rule of the protocol prevents happens as soon as it is left out.
TEST_P(Mistakes, AreFound) {
  const Exploration found = run(GetParam().c);
  EXPECT_THAT(found.failure,
              AnyOf(HasSubstr("overwritten"),
                    HasSubstr("consumed"),
                    HasSubstr("a credit that cannot be"),
                    HasSubstr("outside the window")));
  std::cout << found.failure.substr(0, found.failure.find('\n')) << '\n';
}

ChannelCase with(Omission omission, int duplicates) {
  return {.links = kOneWay,
          .chunks = {4},
          .capacity = 2,
          .duplicates = duplicates,
          .omission = omission};
}
INSTANTIATE_TEST_SUITE_P(Omissions,
                         Mistakes,
                         ::testing::Values(Named{"no_credit", with(Omission::kCredit, 0)},
                                           Named{"no_slot_names", with(Omission::kSlotNames, 0)},
                                           Named{"early_release", with(Omission::kRelease, 0)},
                                           Named{"no_idempotence",
                                                 with(Omission::kIdempotence, 1)}),
                         [](const auto& tested) { return tested.param.name; });

// Staging and landing rings are equally long, so the credit for a slot tells that its former put
// has landed, and thereby that staging was read. The library waits for the completion as well: it
// bounds what the fabric holds, and some providers read staging again until they have reported it.
TEST(Redundancy, ACreditImpliesThatStagingHasBeenRead) {
  const Exploration found = run(with(Omission::kCompletion, 1));
  EXPECT_THAT(found.failure, IsEmpty());
  EXPECT_GT(found.complete, 0U);
}

}  // namespace
}  // namespace shunt::model
