// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// What a rank says of its own failure and of those that others tell it.
#include "engine/alarm.hpp"

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"

namespace shunt::engine {
namespace {

using ::testing::HasSubstr;

Error error_of(const char* text) {
  return Error{ErrorCode::kTimeout, ErrorScope::kFatal, text, 0};
}

/// Rank 1 of a node of three, whose heaps hold control lines and nothing else.
class AlarmTest : public ::testing::Test {
 protected:
  AlarmTest() {
    for (memory::Control& c : controls_) windows_.push_back(reinterpret_cast<std::byte*>(&c));
    options_.rank.shape = *cluster::Shape::create(3, 3);
    options_.rank.rank = 1;
    options_.rank.local = 1;
    options_.rank.windows = windows_.data();
    options_.failure = &failure_;
    options_.on_abort = [this](std::uint64_t word) { told_.push_back(word); };
  }
  std::unique_ptr<Alarm> make() {
    return std::make_unique<Alarm>(options_, [this] { ++wakes_; });
  }
  std::array<memory::Control, 3> controls_{};
  std::vector<std::byte*> windows_;
  exec::FailureBox failure_;
  AlarmOptions options_;
  std::vector<std::uint64_t> told_;
  int wakes_ = 0;
};

TEST_F(AlarmTest, TheFirstErrorIsKeptAndToldToAll) {
  const auto alarm = make();
  alarm->raise(error_of("first"), ControlCode::kFailed, 1);
  alarm->raise(error_of("second"), ControlCode::kPeerLost, 2);
  EXPECT_EQ(failure_.error()->message, "first");
  const std::uint64_t word = abort_word(ControlCode::kFailed, 1);
  EXPECT_EQ(alarm->word(), word);
  for (const memory::Control& c : controls_) EXPECT_EQ(c.abort, word);
  EXPECT_EQ(told_, std::vector<std::uint64_t>{word});
  EXPECT_EQ(wakes_, 1);
}

TEST_F(AlarmTest, AWordThatStandsIsNotReplaced) {
  controls_[2].abort = abort_word(ControlCode::kPeerLost, 0);
  make()->raise(error_of("mine"), ControlCode::kFailed, 1);
  EXPECT_EQ(controls_[2].abort, abort_word(ControlCode::kPeerLost, 0));
}

TEST_F(AlarmTest, OthersAreBelievedAfterTheOwnFailure) {
  std::unique_ptr<Alarm> alarm;
  options_.own_failure = [&] { alarm->raise(error_of("mine"), ControlCode::kFailed, 1); };
  alarm = make();
  alarm->absorb(abort_word(ControlCode::kFailed, 2));
  EXPECT_EQ(failure_.error()->message, "mine");
}

TEST_F(AlarmTest, SaysWhatAnotherRankHasFound) {
  const std::uint64_t failed = abort_word(ControlCode::kFailed, 2);
  const std::pair<std::uint64_t, const char*> cases[] = {
      {abort_word(ControlCode::kPeerLost, 0), "rank 0 was lost (found by another rank)"},
      {failed, "rank 2 failed and ended the operation"},
      {exec::abort_for(failed, 0), "rank 2 waited for rank 0 in vain and ended the operation"},
      {exec::abort_for(failed, 70000), "rank 2 waited for rank 70000 in vain"},
      {exec::abort_for(failed, 1 << 24), "rank 2 failed and ended the operation"},
      {exec::abort_for(failed, -1), "rank 2 failed and ended the operation"}};
  for (const auto& [word, text] : cases) {
    exec::FailureBox failure;
    options_.failure = &failure;
    for (memory::Control& c : controls_) c.abort = 0;
    const auto alarm = make();
    alarm->absorb(word);
    EXPECT_THAT(failure.error()->message, HasSubstr(text));
    EXPECT_EQ(failure.error()->code, ErrorCode::kPeerLost);
    // Who hears it from this rank hears the same.
    EXPECT_EQ(controls_[0].abort, word);
  }
}

}  // namespace
}  // namespace shunt::engine
