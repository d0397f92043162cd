// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Waits of the CPU executor, and the order in which a block takes its chunks.
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/clock.hpp"
#include "base/random.hpp"
#include "exec/channel.hpp"
#include "exec/cpu/exec.hpp"
#include "record/lane.hpp"

namespace shunt::exec {
namespace {

using cpu::CpuExec;
using ::testing::HasSubstr;

/// One rank of `nodes` nodes, with a heap of flags only.
struct Rig {
  explicit Rig(int nodes) {
    const auto shape = cluster::Shape::create(nodes, 1).value();
    context.rank.shape = shape;
    context.rank.layout = memory::Layout(shape, {{2, 2, 2}, {64, 64, 64}});
    heap.resize(context.rank.layout.user / sizeof(Page) + 1);
    base = heap[0].bytes;
    context.rank.heap = base;
    context.rank.windows = &base;
    context.failure = &failure;
    context.on_failure = [this](Error error) { failure.report(std::move(error)); };
    context.on_abort = [this](std::uint64_t word) {
      failure.report(Error{ErrorCode::kPeerLost, ErrorScope::kFatal, std::to_string(word), 0});
    };
    context.deadline_ns = 60'000'000'000;
    context.kernels = &cpu::kernels();
  }
  std::uint64_t* word() { return context.rank.heap_word(context.rank.layout.intra_done); }

  struct alignas(4096) Page {
    std::byte bytes[4096] = {};
  };
  std::vector<Page> heap;
  std::byte* base = nullptr;
  FailureBox failure;
  cpu::CpuContext context;
};

constexpr WaitSite kSite{record::Phase::kDispatchSync, record::WaitReason::kPeerDone, 1, 4};

TEST(Wait, EndsWhenTheWordIsReachedAndSeesWhatCameBeforeIt) {
  Rig rig(2);
  std::vector<std::uint64_t> payload(2000, 0);
  std::thread writer([&] {
    CpuExec exec(rig.context, 1, 2, nullptr);
    for (std::uint64_t i = 0; i < payload.size(); ++i) {
      payload[i] = i * i + 1;
      exec.signal_self(rig.word(), i + 1);
      if (i % 97 == 0) std::this_thread::yield();
    }
  });
  CpuExec exec(rig.context, 0, 2, nullptr);
  for (std::uint64_t i = 0; i < payload.size(); ++i) {
    if (!exec.wait_until(rig.word(), i + 1, kSite) || payload[i] != i * i + 1) {
      ADD_FAILURE() << i;
      break;
    }
  }
  writer.join();
}

TEST(Wait, ExpiresWithAllThatHelpsToFindTheCause) {
  Rig rig(2);
  rig.context.deadline_ns = 1'000'000;
  *rig.word() = 6;
  CpuExec exec(rig.context, 0, 1, nullptr);
  exec.begin(12);
  EXPECT_FALSE(exec.wait_until(rig.word(), 9, kSite));
  const auto error = rig.failure.error();
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, ErrorCode::kTimeout);
  EXPECT_THAT(error->message, HasSubstr("operation 12: rank 0 (node 0) waited"));
  EXPECT_THAT(error->message, HasSubstr("in dispatch_sync for the end of its loads and stores"));
  EXPECT_THAT(error->message, HasSubstr("from rank 1 (node 1), chunk 4: expected 9, seen 6"));
}

TEST(Wait, EndsWhenThisRankOrAnotherHasFailed) {
  Rig own(2);
  own.failure.report(Error{ErrorCode::kInternal, ErrorScope::kFatal, "first", 0});
  own.failure.report(Error{ErrorCode::kInternal, ErrorScope::kFatal, "second", 0});
  EXPECT_FALSE(CpuExec(own.context, 0, 1, nullptr).wait_until(own.word(), 1, kSite));
  EXPECT_EQ(own.failure.error()->message, "first");

  Rig other(2);
  cpu::store_release(&other.context.rank.control(0)->abort, 77);
  EXPECT_FALSE(CpuExec(other.context, 0, 1, nullptr).wait_until(other.word(), 1, kSite));
  EXPECT_EQ(other.failure.error()->message, "77");
}

TEST(LastToArrive, IsTrueOncePerRoundForAnyNumberOfBlocks) {
  Rig rig(1);
  alignas(64) std::uint64_t words[static_cast<std::size_t>(Word::kCount) * 8] = {};
  rig.context.rank.words = words;
  constexpr int kBlocks = 3;
  constexpr int kRounds = 500;
  std::vector<std::uint64_t> stored(kBlocks, 0);
  std::atomic<int> last{0};
  std::atomic<bool> right{true};
  std::vector<std::thread> blocks;
  for (int b = 0; b < kBlocks; ++b) {
    blocks.emplace_back([&, b] {
      CpuExec exec(rig.context, b, kBlocks, nullptr);
      for (std::uint64_t round = 1; round <= kRounds; ++round) {
        stored[static_cast<std::size_t>(b)] = round;
        if (exec.last_to_arrive(Word::kIntraArrivals)) {
          ++last;
          for (const std::uint64_t value : stored) right = right && value == round;
          exec.signal_self(rig.word(), round);
        }
        if (!exec.wait_until(rig.word(), round, kSite)) right = false;
      }
    });
  }
  for (std::thread& block : blocks) block.join();
  EXPECT_EQ(last, kRounds);
  EXPECT_TRUE(right);
}

/// Chunks become ready by what has been visited, in a random but sufficient order.
TEST(ForReadyChunks, TakesEachChunkOnceInOrderPerPeerAndWaitsOnlyIfNothingIsReady) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Random random(seed);
    const int nodes = 2 + static_cast<int>(random.below(5));
    const int blocks = 1 + static_cast<int>(random.below(4));
    Rig rig(nodes);
    const int peers = nodes - 1;
    std::vector<std::int64_t> begin{0};
    for (int p = 0; p < peers; ++p) {
      begin.push_back(begin.back() + static_cast<std::int64_t>(random.below(12)));
    }
    for (int block = 0; block < blocks; ++block) {
      CpuExec exec(rig.context, block, blocks, nullptr);
      std::vector<std::int32_t> next(static_cast<std::size_t>(peers));
      std::vector<std::int64_t> opened(static_cast<std::size_t>(peers), 0);
      std::vector<std::vector<std::int64_t>> seen(static_cast<std::size_t>(peers));
      int stalls = 0;
      const auto ready = [&](int p, std::int64_t chunk) { return chunk < opened[p]; };
      const bool all = for_ready_chunks(
          exec,
          begin.data(),
          next.data(),
          static_cast<int>(random.below(static_cast<std::uint64_t>(nodes))),
          ready,
          [&](int p, std::int64_t chunk) {
            for (int q = 0; q < peers; ++q) {
              const bool open = next[q] < begin[q + 1] - begin[q] && ready(q, next[q]);
              EXPECT_FALSE(open) << "waits although peer " << q << " is ready";
            }
            ++stalls;
            // Another peer than the one that is named may come first.
            const int other = static_cast<int>(random.below(static_cast<std::uint64_t>(peers)));
            opened[random.below(2) == 0 && next[other] < begin[other + 1] - begin[other] ? other
                                                                                         : p] +=
                1 + blocks + static_cast<std::int64_t>(random.below(3));
            opened[p] = std::max(opened[p], chunk + 1);
            return Stall{rig.word(), 1, kSite};
          },
          [&](int p, std::int64_t chunk) {
            EXPECT_TRUE(ready(p, chunk));
            seen[p].push_back(chunk);
            return true;
          });
      ASSERT_TRUE(all);
      for (int p = 0; p < peers; ++p) {
        std::vector<std::int64_t> mine;
        for (std::int64_t c = 0; c < begin[p + 1] - begin[p]; ++c) {
          if ((c + p) % blocks == block) mine.push_back(c);
        }
        ASSERT_EQ(seen[p], mine) << "seed " << seed << " peer " << p;
      }
    }
  }
}

TEST(ForReadyChunks, StopsWhenAVisitOrAWaitFails) {
  Rig rig(3);
  const std::int64_t begin[] = {0, 4, 8};
  std::int32_t next[2] = {};
  CpuExec exec(rig.context, 0, 1, nullptr);
  int visits = 0;
  const auto stall = [&](int, std::int64_t) { return Stall{rig.word(), 1, kSite}; };
  EXPECT_FALSE(for_ready_chunks(
      exec,
      begin,
      next,
      0,
      [](int, std::int64_t) { return true; },
      stall,
      [&](int, std::int64_t) { return ++visits < 3; }));
  EXPECT_EQ(visits, 3);
  rig.failure.report(Error{ErrorCode::kPeerLost, ErrorScope::kFatal, "gone", 0});
  EXPECT_FALSE(for_ready_chunks(
      exec,
      begin,
      next,
      0,
      [](int, std::int64_t) { return false; },
      stall,
      [&](int, std::int64_t) { return true; }));
}

TEST(Spans, OneThatIsStoppedEndsThereThoughItIsWrittenLater) {
  Rig rig(1);
  record::Recorder recorder(16);
  record::Lane* lane = recorder.add_lane();
  CpuExec exec(rig.context, 0, 1, lane);
  std::uint64_t after = 0;
  {
    SpanScope stopped(exec, kSite, record::SpanKind::kCopy);
    SpanScope open(exec, kSite, record::SpanKind::kPhase);
    stopped.add_bytes(3);
    stopped.add_bytes(4);
    stopped.stop();
    after = now_ns();
    while (now_ns() == after) {
    }
  }
  std::vector<record::Span> spans;
  lane->drain([&](record::RecordType type, const void* data) {
    ASSERT_EQ(type, record::RecordType::kSpan);
    spans.push_back(*static_cast<const record::Span*>(data));
  });
  ASSERT_EQ(spans.size(), 2U);  // The inner one is written first.
  EXPECT_EQ(spans[0].kind, record::SpanKind::kPhase);
  EXPECT_GT(spans[0].end_ns, after);
  EXPECT_EQ(spans[1].kind, record::SpanKind::kCopy);
  EXPECT_LE(spans[1].end_ns, after);
  EXPECT_LE(spans[1].begin_ns, spans[1].end_ns);
  EXPECT_EQ(spans[1].bytes, 7U);
}

}  // namespace
}  // namespace shunt::exec
