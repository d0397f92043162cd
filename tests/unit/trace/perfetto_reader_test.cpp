// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "trace/perfetto_reader.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include "base/file.hpp"
#include "base/random.hpp"
#include "profile/rank_log.hpp"
#include "profile/run_reader.hpp"
#include "support/temporary_directory.hpp"
#include "trace/export.hpp"
#include "trace/track_names.hpp"

namespace shunt::trace {
namespace {

using record::Phase;
using record::SpanKind;
using record::WaitReason;
using ::testing::Contains;
using ::testing::HasSubstr;
using testing::slurp;
using testing::TemporaryDirectory;

constexpr int kWorld = 4;

/// Every record as text, sorted: two readers that say the same give the same list.
class Listing final : public profile::RecordVisitor {
 public:
  void on_span(int rank, const record::Span& s) override {
    lines_.push_back(fmt::format("{} span {} {} {} op {} peer {} chunk {} {} {} {} b {} w {}",
                                 rank,
                                 s.begin_ns,
                                 s.end_ns,
                                 s.bytes,
                                 s.op,
                                 s.peer,
                                 s.chunk,
                                 to_string(s.phase),
                                 to_string(s.kind),
                                 to_string(s.reason),
                                 s.block,
                                 s.warp));
  }
  void on_put(int rank, const record::Put& p) override {
    lines_.push_back(fmt::format("{} put {} {} {} {} op {} peer {} chunk {} nic {} qp {} {}",
                                 rank,
                                 p.enqueued_ns,
                                 p.posted_ns,
                                 p.completed_ns,
                                 p.bytes,
                                 p.op,
                                 p.peer,
                                 p.chunk,
                                 p.nic,
                                 p.qp,
                                 to_string(p.phase)));
  }
  void on_arrival(int rank, const record::Arrival& a) override {
    lines_.push_back(fmt::format("{} arrival {} {} op {} peer {} chunk {} {}",
                                 rank,
                                 a.time_ns,
                                 a.bytes,
                                 a.op,
                                 a.peer,
                                 a.chunk,
                                 to_string(a.phase)));
  }
  [[nodiscard]] std::vector<std::string> sorted() const {
    std::vector<std::string> out = lines_;
    std::ranges::sort(out);
    return out;
  }

 private:
  std::vector<std::string> lines_;
};

constexpr std::array kPhases{Phase::kCountExchange,
                             Phase::kCopyToStaging,
                             Phase::kDispatchInterNodeSend,
                             Phase::kDispatchInterNodeRecv,
                             Phase::kDispatchIntra,
                             Phase::kDispatchSync,
                             Phase::kDispatchOutputCopy,
                             Phase::kCombineSync,
                             Phase::kCombineSyncBarrier,
                             Phase::kCombineInterNode,
                             Phase::kCombineIntraNode,
                             Phase::kCombineAll,
                             Phase::kCombineRelease,
                             Phase::kDispatch,
                             Phase::kCombine};

template <typename Record>
void fill(Record& record, Random& random) {
  record.op = static_cast<std::uint32_t>(random.below(3));
  record.peer = static_cast<std::int32_t>(random.below(kWorld + 1)) - 1;
  record.chunk = static_cast<std::int32_t>(random.below(6)) - 1;
  record.bytes = random.below(3) == 0 ? 0 : random.below(1'000'000'000'000);
  record.phase = kPhases[random.below(kPhases.size())];
}

class PerfettoReader : public ::testing::Test {
 protected:
  /// A run of random records of every kind: what the data path never does together included.
  void SetUp() override {
    profile::RunInfo run;
    run.started = "2026-01-02T03:04:05Z";
    run.tool_version = "test";
    run.finished = true;
    run.shape = {kWorld, 2, 2};
    run.config.link_rate_bytes_per_s = 25e9;
    run.config.command_line = {"shunt", "bench", "\"quoted\" · \xff"};
    for (int rank = 0; rank < kWorld; ++rank) run.clocks.push_back({rank, 0, 0, 0, 0});
    const auto writer = profile::RunWriter::create(directory(), profile::Existing::kRefuse);
    ASSERT_TRUE(writer);
    ASSERT_TRUE(writer->write_info(run));
    Random random(11);
    for (int rank = 0; rank < kWorld - 1; ++rank) write_rank(rank, random);  // The last is missing.
    ASSERT_TRUE(export_run(directory(), Format::kPerfetto, trace()));
  }

  void write_rank(int rank, Random& random) {
    auto log = profile::RankLog::create(directory(), rank, kWorld, 0);
    ASSERT_TRUE(log);
    record::Recorder recorder(1U << 16);
    record::Lane& lane = *recorder.add_lane();
    for (int i = 0; i < 300; ++i) {
      record::Span span;
      fill(span, random);
      span.begin_ns = 1'000'000 + random.below(100'000);
      span.end_ns = span.begin_ns + random.below(300);
      span.kind = static_cast<SpanKind>(random.below(6));
      if (span.kind == SpanKind::kWait) span.reason = static_cast<WaitReason>(random.below(7));
      span.block = static_cast<std::uint16_t>(random.below(40));
      span.warp = static_cast<std::uint16_t>(random.below(4));
      lane.push(span);
    }
    for (int i = 0; i < 100; ++i) {
      record::Put put;
      fill(put, random);
      put.posted_ns = 1'000'000 + random.below(100'000);
      put.completed_ns = random.below(10) == 0 ? 0 : put.posted_ns + random.below(900);
      put.enqueued_ns = random.below(2) == 0 ? 0 : put.posted_ns - 1 - random.below(50);
      put.nic = static_cast<std::uint16_t>(random.below(2));
      put.qp = static_cast<std::uint16_t>(random.below(4));
      lane.push(put);
      record::Arrival arrival;
      fill(arrival, random);
      arrival.time_ns = 1'000'000 + random.below(100'000);
      lane.push(arrival);
    }
    ASSERT_TRUE(log->finish(recorder));
  }

  [[nodiscard]] std::string directory() const { return scratch_.file("run"); }
  [[nodiscard]] std::string trace() const { return scratch_.file("run.pftrace"); }

  static Result<profile::RecordingSummary> read(const std::string& bytes, Listing& listing) {
    const auto source = memory_bytes(bytes);
    return read_exported_run(*source, "trace", listing);
  }

  TemporaryDirectory scratch_;
};

TEST_F(PerfettoReader, GivesEveryRecordOfTheRunBack) {
  Listing original;
  const auto run = profile::read_run(directory(), original);
  ASSERT_TRUE(run);
  Listing again;
  const auto read_back = read(slurp(trace()), again);
  ASSERT_TRUE(read_back) << read_back.error().message;
  EXPECT_EQ(again.sorted(), original.sorted());
  EXPECT_EQ(read_back->notes, run->notes);
  ASSERT_EQ(read_back->ranks.size(), run->ranks.size());
  for (std::size_t rank = 0; rank < run->ranks.size(); ++rank) {
    EXPECT_EQ(read_back->ranks[rank].present, run->ranks[rank].present);
    EXPECT_EQ(read_back->ranks[rank].complete, run->ranks[rank].complete);
    EXPECT_EQ(read_back->ranks[rank].records, run->ranks[rank].records);
  }
  EXPECT_FALSE(read_back->ranks.back().present);
  EXPECT_EQ(read_back->run.config.link_rate_bytes_per_s, 25e9);
}

TEST_F(PerfettoReader, ReadsCompressedFiles) {
  const std::string bytes = slurp(trace());
  Listing plain;
  ASSERT_TRUE(read(bytes, plain));
  std::string zst(ZSTD_compressBound(bytes.size()), '\0');
  zst.resize(ZSTD_compress(zst.data(), zst.size(), bytes.data(), bytes.size(), 3));
  ASSERT_TRUE(write_file(scratch_.file("run.zst"), zst));
  const gzFile file = gzopen(scratch_.file("run.gz").c_str(), "wb");
  ASSERT_EQ(gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size())),
            static_cast<int>(bytes.size()));
  ASSERT_EQ(gzclose(file), Z_OK);
  for (const char* name : {"run.zst", "run.gz"}) {
    const std::string path = scratch_.file(name);
    const auto source = open_bytes(path);
    ASSERT_TRUE(source);
    EXPECT_TRUE(is_exported_run(**source)) << name;
    Listing listing;
    ASSERT_TRUE(read_exported_run(**source, path, listing)) << name;
    EXPECT_EQ(listing.sorted(), plain.sorted()) << name;
  }
}

TEST_F(PerfettoReader, ACutFileGivesWhatStandsBeforeTheCutAndSaysWhatIsMissing) {
  const std::string bytes = slurp(trace());
  Listing whole;
  ASSERT_TRUE(read(bytes, whole));
  const auto all = whole.sorted();
  std::size_t partial = 0;
  for (std::size_t size = 0; size < bytes.size(); size += 997) {
    Listing listing;
    const auto run = read(bytes.substr(0, size), listing);
    if (!run) {
      EXPECT_LT(size, 4096U);
      EXPECT_THAT(run.error().message, HasSubstr("does not begin with the description of a run"));
      continue;
    }
    ++partial;
    const auto some = listing.sorted();
    EXPECT_TRUE(std::ranges::includes(all, some)) << size;
    std::uint64_t records = 0;
    for (const auto& rank : run->ranks) records += rank.records;
    EXPECT_EQ(records, some.size());
    if (some.size() == all.size()) continue;  // Only counters of links follow.
    EXPECT_THAT(run->notes, Contains(HasSubstr("records are in the trace"))) << size;
    EXPECT_TRUE(std::ranges::any_of(run->ranks, [](const profile::RankFile& rank) {
      return rank.present && !rank.complete;
    })) << size;
  }
  EXPECT_GT(partial, 100U);
}

TEST_F(PerfettoReader, DamageNeverInventsARankAndNeverCrashes) {
  const std::string bytes = slurp(trace());
  Random random(5);
  for (int round = 0; round < 150; ++round) {
    std::string damaged = bytes;
    for (std::uint64_t i = 0; i <= random.below(20); ++i) {
      damaged[random.below(damaged.size())] = static_cast<char>(random.below(256));
    }
    Listing listing;
    const auto run = read(damaged, listing);
    if (!run) continue;
    EXPECT_EQ(run->ranks.size(), static_cast<std::size_t>(run->run.shape.world));
  }
}

// Fields whose wire type damage has changed are strangers, not lengths to trust.
TEST_F(PerfettoReader, AKnownFieldOfAnotherWireTypeIsPassedOver) {
  const std::string bytes = slurp(trace());
  Listing whole;
  ASSERT_TRUE(read(bytes, whole));
  // A packet with an event (11) whose annotation (4) is a number, and one whose event is a number.
  for (const std::string& packet :
       {std::string("\x0a\x04\x5a\x02\x20\x05", 6), std::string("\x0a\x02\x58\x05", 4)}) {
    Listing listing;
    const auto run = read(bytes + packet, listing);
    ASSERT_TRUE(run);
    EXPECT_EQ(listing.sorted(), whole.sorted());
    EXPECT_THAT(run->notes, ::testing::Not(Contains(HasSubstr("cannot be read"))));
  }
}

TEST_F(PerfettoReader, OtherFilesAreNotTakenForExports) {
  const auto is_run = [](std::string_view bytes) {
    HeadSource source(memory_bytes(bytes));
    const bool run = is_exported_run(source);
    std::string left(bytes.size() + 1, '\0');
    std::size_t size = 0;
    while (const std::size_t got = source.read(left.data() + size, left.size() - size)) size += got;
    EXPECT_EQ(std::string_view(left).substr(0, size), bytes) << "looking took something away";
    return run;
  };
  EXPECT_TRUE(is_run(slurp(trace())));
  EXPECT_FALSE(is_run(""));
  EXPECT_FALSE(is_run("\n"));
  EXPECT_FALSE(is_run("\n\nA log that begins with blank lines\n"));
  EXPECT_FALSE(is_run("{\"traceEvents\": []}"));
  EXPECT_FALSE(is_run(std::string("\x0a\x02\x50\x01", 4)));  // A packet, but not of ours.
  EXPECT_FALSE(is_run(std::string("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 11)));
  EXPECT_FALSE(is_run(slurp(trace()).substr(0, 100)));
}

TEST(TrackNames, AreReadAsTheyAreMade) {
  EXPECT_EQ(rank_of_process(process_name(17, 2)), 17);
  EXPECT_FALSE(rank_of_process("links · bytes that arrived, per 10 µs"));
  for (const int level : {0, 3}) {
    const auto row = parse_block_row(block_row(31, 7, level));
    ASSERT_TRUE(row);
    EXPECT_EQ(row->block, 31);
    EXPECT_EQ(row->warp, 7);
    const auto put = parse_put_row(put_row(12, 3, level));
    ASSERT_TRUE(put);
    EXPECT_EQ(put->peer, 12);
    EXPECT_EQ(put->qp, 3);
  }
  EXPECT_FALSE(parse_block_row("block 3"));
  EXPECT_FALSE(parse_block_row("block 3 · warp 1x"));
  EXPECT_FALSE(parse_put_row("→ rank x · qp 1"));
}

}  // namespace
}  // namespace shunt::trace
