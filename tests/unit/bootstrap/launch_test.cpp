// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/launch.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "base/random.hpp"
#include "bootstrap/collective.hpp"
#include "bootstrap/wire.hpp"

namespace shunt::bootstrap {
namespace {

using ::testing::HasSubstr;

LaunchOptions options(int ranks) {
  LaunchOptions made;
  made.ranks = ranks;
  made.deadline_ns = 60'000'000'000;
  return made;
}

Bytes bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text.data(), text.size()));
  return {bytes.begin(), bytes.end()};
}

/// Waits for a signal that never comes.
[[noreturn]] void sleep_for_ever() {
  while (true) ::pause();
}

TEST(Launch, EveryRankGetsEveryBlobAndReturnsItsResult) {
  for (const int ranks : {1, 2, 5}) {
    const auto outcome =
        launch_local(options(ranks), [ranks](World& world) -> Result<std::vector<std::byte>> {
          if (std::string(world.kind()) != "local" || world.size() != ranks ||
              world.one_process()) {
            return usage_error("wrong world");
          }
          for (int round = 0; round < 30; ++round) {
            Random random(static_cast<std::uint64_t>(world.rank() * 100 + round));
            const Bytes mine(random.below(200'000), static_cast<std::byte>(world.rank() + round));
            const Result<Blobs> all = world.all_gather(mine);
            if (!all) return Unexpected(all.error());
            for (int rank = 0; rank < ranks; ++rank) {
              Random theirs(static_cast<std::uint64_t>(rank * 100 + round));
              const Bytes expected(theirs.below(200'000), static_cast<std::byte>(rank + round));
              if ((*all)[static_cast<std::size_t>(rank)] != expected) {
                return usage_error("round {}: wrong blob of rank {}", round, rank);
              }
            }
            if (const Status met = world.barrier(); !met) return Unexpected(met.error());
          }
          return bytes_of(fmt::format("result of {}", world.rank()));
        });
    ASSERT_TRUE(outcome) << outcome.error().message;
    ASSERT_TRUE(outcome->status) << outcome->status.error().message;
    ASSERT_EQ(outcome->ranks.size(), static_cast<std::size_t>(ranks));
    for (int rank = 0; rank < ranks; ++rank) {
      const RankOutcome& one = outcome->ranks[static_cast<std::size_t>(rank)];
      EXPECT_FALSE(one.error);
      EXPECT_EQ(one.result, bytes_of(fmt::format("result of {}", rank)));
    }
  }
}

TEST(Launch, AKilledRankIsNamedToTheOthersAndToTheCaller) {
  const auto outcome = launch_local(options(4), [](World& world) -> Result<std::vector<std::byte>> {
    if (const Status met = world.barrier(); !met) return Unexpected(met.error());
    if (world.rank() == 3) ::raise(SIGKILL);
    const Status met = world.barrier();
    if (met) return usage_error("the barrier succeeded");
    return bytes_of(met.error().message);
  });
  ASSERT_TRUE(outcome);
  ASSERT_FALSE(outcome->status);
  EXPECT_EQ(outcome->status.error().code, ErrorCode::kPeerLost);
  EXPECT_EQ(outcome->status.error().message,
            "rank 3: killed by signal 9 (Killed) before it had finished");
  EXPECT_EQ(outcome->ranks[3].signal, SIGKILL);
  EXPECT_FALSE(outcome->ranks[3].stopped);
  for (std::size_t rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(outcome->ranks[rank].result,
              bytes_of("rank 3 failed: killed by signal 9 (Killed) before it had finished"));
  }
}

TEST(Launch, AnErrorIsShownBeforeTheFailuresItCauses) {
  const auto outcome = launch_local(options(3), [](World& world) -> Result<std::vector<std::byte>> {
    // The consequence is reported first: rank 0 learns of it before rank 1 returns.
    if (world.rank() == 0) {
      return fail(ErrorCode::kPeerLost, ErrorScope::kPeer, "lost rank 1");
    }
    const Status met = world.barrier();
    if (world.rank() == 1) return usage_error("hidden 3 is not allowed");
    return Unexpected(met.error());
  });
  ASSERT_TRUE(outcome);
  ASSERT_FALSE(outcome->status);
  EXPECT_EQ(outcome->status.error().message, "rank 1: hidden 3 is not allowed");
  EXPECT_EQ(outcome->status.error().code, ErrorCode::kInvalidArgument);
  ASSERT_TRUE(outcome->ranks[0].error);
  EXPECT_EQ(outcome->ranks[0].error->message, "lost rank 1");
}

TEST(Launch, ARankThatExitsByItselfIsAFailure) {
  const auto outcome = launch_local(options(2), [](World& world) -> Result<std::vector<std::byte>> {
    if (world.rank() == 1) ::_exit(7);
    const Status met = world.barrier();
    return Unexpected(met.error());
  });
  ASSERT_TRUE(outcome);
  ASSERT_FALSE(outcome->status);
  EXPECT_THAT(outcome->status.error().message, HasSubstr("exited with status 7 before"));
}

TEST(Launch, ALeavingRankIsNamed) {
  const auto outcome = launch_local(options(2), [](World& world) -> Result<std::vector<std::byte>> {
    if (world.rank() == 1) return Bytes{};
    const Status met = world.barrier();
    if (met) return usage_error("the barrier succeeded");
    return bytes_of(met.error().message);
  });
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(outcome->status);
  EXPECT_EQ(outcome->ranks[0].result,
            bytes_of("rank 1 left the world before the barrier was complete"));
}

TEST(Launch, AStragglerIsEndedAfterTheGraceTime) {
  for (const bool stubborn : {false, true}) {
    LaunchOptions quick = options(3);
    quick.grace_ns = 1'000'000;
    const auto outcome =
        launch_local(quick, [stubborn](World& world) -> Result<std::vector<std::byte>> {
          if (stubborn) ::signal(SIGTERM, SIG_IGN);
          if (const Status met = world.barrier(); !met) return Unexpected(met.error());
          if (world.rank() == 1) return usage_error("wrong");
          sleep_for_ever();
        });
    ASSERT_TRUE(outcome);
    ASSERT_FALSE(outcome->status);
    EXPECT_EQ(outcome->status.error().message, "rank 1: wrong");
    for (const std::size_t rank : {0U, 2U}) {
      EXPECT_TRUE(outcome->ranks[rank].stopped);
      EXPECT_EQ(outcome->ranks[rank].signal, stubborn ? SIGKILL : SIGTERM);
      EXPECT_THAT(outcome->ranks[rank].error->message, HasSubstr("another rank had failed"));
    }
  }
}

TEST(Launch, AnExpiredDeadlineNamesWhoIsMissing) {
  LaunchOptions quick = options(3);
  quick.deadline_ns = 1'000'000;
  quick.grace_ns = 1'000'000;
  const auto outcome = launch_local(quick, [](World& world) -> Result<std::vector<std::byte>> {
    if (world.rank() == 2) sleep_for_ever();
    const Status met = world.barrier();
    return Unexpected(met.error());
  });
  ASSERT_TRUE(outcome);
  ASSERT_FALSE(outcome->status);
  EXPECT_EQ(outcome->status.error().code, ErrorCode::kTimeout);
  EXPECT_THAT(outcome->status.error().message, HasSubstr("barrier not entered by rank"));
  EXPECT_TRUE(outcome->ranks[2].stopped);
}

TEST(Launch, TheHookRunsInTheRankAndItsErrorIsTheRanks) {
  LaunchOptions hooked = options(2);
  hooked.on_start = [](int rank) -> Status {
    if (rank == 1) return usage_error("no node for rank {}", rank);
    return {};
  };
  const auto outcome = launch_local(hooked, [](World& world) -> Result<std::vector<std::byte>> {
    const Status met = world.barrier();
    return Unexpected(met.error());
  });
  ASSERT_TRUE(outcome);
  ASSERT_FALSE(outcome->status);
  EXPECT_EQ(outcome->status.error().message, "rank 1: no node for rank 1");
}

TEST(Launch, OutputOfRanksStaysOffStdout) {
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  const auto outcome = launch_local(options(2), [](World& world) -> Result<std::vector<std::byte>> {
    std::printf("from rank %d\n", world.rank());
    if (std::getchar() != EOF) return usage_error("stdin is not empty");
    return Bytes{};
  });
  const std::string out = ::testing::internal::GetCapturedStdout();
  const std::string err = ::testing::internal::GetCapturedStderr();
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(outcome->status) << outcome->status.error().message;
  EXPECT_EQ(out, "");
  EXPECT_THAT(err, HasSubstr("from rank 0"));
  EXPECT_THAT(err, HasSubstr("from rank 1"));
}

/// Runs launch_local in a process of its own whose ranks hold `held` open until they die.
pid_t start_launcher(int held, int ready) {
  const pid_t launcher = ::fork();
  if (launcher != 0) return launcher;
  const auto outcome =
      launch_local(options(3), [held, ready](World& world) -> Result<std::vector<std::byte>> {
        if (const Status met = world.barrier(); !met) return Unexpected(met.error());
        const char here = 'r';
        if (::write(ready, &here, 1) != 1 || held < 0) return usage_error("cannot report");
        sleep_for_ever();
      });
  ::_exit(outcome ? 64 + outcome->interrupted_by : 1);
}

/// What became of the launcher once `signal` hit it; all ranks are gone when this returns.
int end_launcher(int signal) {
  int held[2];
  int ready[2];
  EXPECT_EQ(::pipe2(held, O_CLOEXEC), 0);
  EXPECT_EQ(::pipe2(ready, O_CLOEXEC), 0);
  const pid_t launcher = start_launcher(held[1], ready[1]);
  ::close(held[1]);
  ::close(ready[1]);
  char byte = 0;
  for (int rank = 0; rank < 3; ++rank) EXPECT_EQ(::read(ready[0], &byte, 1), 1);
  ::kill(launcher, signal);
  int status = 0;
  EXPECT_EQ(::waitpid(launcher, &status, 0), launcher);
  EXPECT_EQ(::read(held[0], &byte, 1), 0) << "end of file: the last holder is gone";
  ::close(held[0]);
  ::close(ready[0]);
  return status;
}

TEST(Launch, NoRankOutlivesAKilledParent) {
  const int status = end_launcher(SIGKILL);
  EXPECT_TRUE(WIFSIGNALED(status));
}

TEST(Launch, AnInterruptEndsAllRanks) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const int status = end_launcher(signal);
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 64 + signal);
  }
}

TEST(Launch, NoRanksAreRefused) {
  const auto outcome =
      launch_local(options(0), [](World&) -> Result<std::vector<std::byte>> { return Bytes{}; });
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().message, "0 ranks are not allowed; at least 1");
}

TEST(Wire, MessagesSurviveAnyCut) {
  Bytes stream;
  std::vector<Message> sent;
  for (std::size_t size : {0U, 1U, 15U, 16U, 17U, 1000U}) {
    sent.push_back({Message::Kind::kEnter, Call::kAllGather, Bytes(size, std::byte{9})});
    const Bytes one = encode(sent.back());
    stream.insert(stream.end(), one.begin(), one.end());
  }
  for (std::size_t step = 1; step < 40; ++step) {
    Decoder decoder;
    std::vector<Message> received;
    for (std::size_t at = 0; at < stream.size(); at += step) {
      decoder.append(std::span(stream).subspan(at, std::min(step, stream.size() - at)));
      while (auto message = decoder.next()) received.push_back(std::move(*message));
    }
    ASSERT_EQ(received.size(), sent.size());
    for (std::size_t i = 0; i < sent.size(); ++i) {
      EXPECT_EQ(received[i].body, sent[i].body);
      EXPECT_EQ(received[i].call, Call::kAllGather);
    }
  }
}

TEST(Wire, ErrorsAndBlobsComeBackAndShortOnesAreRefused) {
  const Error error{ErrorCode::kTimeout, ErrorScope::kPeer, "waited", 5};
  const Bytes encoded = encode(error);
  const Error back = decode_error(encoded).value();
  EXPECT_EQ(back.code, error.code);
  EXPECT_EQ(back.scope, error.scope);
  EXPECT_EQ(back.message, error.message);
  EXPECT_EQ(back.sys, error.sys);
  EXPECT_FALSE(decode_error(std::span(encoded).first(11)));
  const Blobs blobs{Bytes(3, std::byte{1}), {}, Bytes(100, std::byte{2})};
  const Bytes all = encode(blobs);
  EXPECT_EQ(decode_blobs(all).value(), blobs);
  for (std::size_t size = 0; size < all.size(); ++size) {
    EXPECT_FALSE(decode_blobs(std::span(all).first(size))) << size;
  }
}

}  // namespace
}  // namespace shunt::bootstrap
