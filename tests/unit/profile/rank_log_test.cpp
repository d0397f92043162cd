// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "profile/rank_log.hpp"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "profile/rank_format.hpp"
#include "profile/run_reader.hpp"
#include "sample_run.hpp"
#include "support/temporary_directory.hpp"

namespace shunt::profile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::slurp;
using testing::spill;
using testing::TemporaryDirectory;

/// A run of `world` ranks in which each rank drains `drains` times what three lanes took.
RunInfo write_sample(const std::string& path, int world, int drains, std::uint64_t per_drain) {
  const RunInfo run = make_run(world, 1);
  auto writer = RunWriter::create(path, Existing::kRefuse);
  EXPECT_TRUE(writer) << writer.error().message;
  EXPECT_TRUE(writer->write_info(run));
  for (int rank = 0; rank < world; ++rank) {
    auto log = RankLog::create(path, rank, world, run.run_id);
    EXPECT_TRUE(log) << log.error().message;
    record::Recorder recorder(4096);
    record::Lane* spans = recorder.add_lane();
    record::Lane* puts = recorder.add_lane();
    for (int drain = 0; drain < drains; ++drain) {
      for (std::uint64_t i = 0; i < per_drain; ++i) {
        const std::uint64_t n = static_cast<std::uint64_t>(drain) * per_drain + i;
        spans->push(make_span(n, world));
        puts->push(make_put(n, world));
        puts->push(make_arrival(n, world));
      }
      EXPECT_TRUE(log->drain(recorder));
    }
    EXPECT_TRUE(log->finish(recorder));
  }
  return run;
}

TEST(RankLog, ReturnsEveryRecordOfEveryRankInOrder) {
  const TemporaryDirectory scratch;
  constexpr std::uint64_t kRecords = 3 * 2000;
  write_sample(scratch.file("run"), 2, 3, 2000);
  Seen seen;
  const auto summary = read_run(scratch.file("run"), seen);
  ASSERT_TRUE(summary) << summary.error().message;
  EXPECT_THAT(summary->notes, ElementsAre());
  ASSERT_EQ(summary->ranks.size(), 2U);
  for (const RankFile& file : summary->ranks) {
    EXPECT_TRUE(file.present);
    EXPECT_TRUE(file.complete);
    EXPECT_EQ(file.records, 3 * kRecords);
    EXPECT_EQ(file.dropped, 0U);
    EXPECT_EQ(file.bad_blocks, 0U);
  }
  ASSERT_EQ(seen.spans.size(), 2 * kRecords);
  ASSERT_EQ(seen.puts.size(), 2 * kRecords);
  ASSERT_EQ(seen.arrivals.size(), 2 * kRecords);
  for (std::size_t i = 0; i < seen.spans.size(); ++i) {
    ASSERT_EQ(seen.spans[i].first, static_cast<int>(i / kRecords));
    ASSERT_TRUE(same_fields(seen.spans[i].second, make_span(i % kRecords, 2))) << i;
    ASSERT_TRUE(same_fields(seen.puts[i].second, make_put(i % kRecords, 2))) << i;
    ASSERT_TRUE(same_fields(seen.arrivals[i].second, make_arrival(i % kRecords, 2))) << i;
  }
}

TEST(RankLog, SaysHowManyRecordsTheRingsDropped) {
  const TemporaryDirectory scratch;
  auto writer = RunWriter::create(scratch.file("run"), Existing::kRefuse);
  ASSERT_TRUE(writer);
  ASSERT_TRUE(writer->write_info(make_run(1, 1)));
  auto log = RankLog::create(scratch.file("run"), 0, 1, 77);
  ASSERT_TRUE(log);
  record::Recorder recorder(64);
  record::Lane* lane = recorder.add_lane();
  for (std::uint64_t i = 0; i < 100; ++i) lane->push(make_span(i, 1));
  ASSERT_TRUE(log->finish(recorder));
  Seen seen;
  const auto summary = read_run(scratch.file("run"), seen);
  ASSERT_TRUE(summary);
  EXPECT_EQ(seen.spans.size(), 64U);
  EXPECT_EQ(summary->ranks[0].dropped, 36U);
  EXPECT_THAT(summary->notes, ElementsAre(HasSubstr("36 records were dropped")));
}

TEST(RankLog, AKilledRankLeavesAllThatItDrained) {
  const TemporaryDirectory scratch;
  auto writer = RunWriter::create(scratch.file("run"), Existing::kRefuse);
  ASSERT_TRUE(writer);
  ASSERT_TRUE(writer->write_info(make_run(1, 1)));
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    auto log = RankLog::create(scratch.file("run"), 0, 1, 77);
    if (!log) ::_exit(1);
    record::Recorder recorder(1024);
    record::Lane* lane = recorder.add_lane();
    for (std::uint64_t i = 0; i < 10; ++i) lane->push(make_span(i, 1));
    if (!log->drain(recorder)) ::_exit(1);
    for (std::uint64_t i = 10; i < 20; ++i) lane->push(make_span(i, 1));
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  Seen seen;
  const auto summary = read_run(scratch.file("run"), seen);
  ASSERT_TRUE(summary);
  EXPECT_EQ(seen.spans.size(), 10U);
  EXPECT_FALSE(summary->ranks[0].complete);
  EXPECT_THAT(summary->notes, ElementsAre(HasSubstr("after 10 records")));
}

/// No file may grow beyond `bytes` while this lives: stands for a disk that is full.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : former_handler_(::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &former_);
    const rlimit limit{bytes, former_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &former_);
    ::signal(SIGXFSZ, former_handler_);
  }

 private:
  rlimit former_{};
  sighandler_t former_handler_;
};

TEST(RankLog, AFullDiskCostsRecordsAndNotTheRun) {
  const TemporaryDirectory scratch;
  const std::string path = scratch.file("run");
  auto writer = RunWriter::create(path, Existing::kRefuse);
  ASSERT_TRUE(writer);
  ASSERT_TRUE(writer->write_info(make_run(1, 1)));
  auto log = RankLog::create(path, 0, 1, 77);
  ASSERT_TRUE(log);
  record::Recorder recorder(1024);
  record::Lane* lane = recorder.add_lane();
  const auto drain = [&](std::uint64_t first) {
    for (std::uint64_t i = first; i < first + 10; ++i) lane->push(make_span(i, 1));
    return log->drain(recorder);
  };
  ASSERT_TRUE(drain(0));
  {
    const FileSizeLimit limit(700);  // Inside the second block.
    const Status status = drain(10);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().sys, EFBIG);
    EXPECT_THAT(status.error().message, HasSubstr("rank-00000.rec"));
  }
  EXPECT_FALSE(drain(20)) << "a first error stays: what follows a hole would mislead";
  EXPECT_EQ(log->lost(), 20U);
  EXPECT_EQ(log->records(), 10U);
  EXPECT_FALSE(log->finish(recorder));
  Seen seen;
  const auto summary = read_run(path, seen);
  ASSERT_TRUE(summary);
  EXPECT_EQ(seen.total(), 10U);
  EXPECT_THAT(summary->notes, ElementsAre(HasSubstr("cut short after 10 records")));
}

TEST(RankLog, RefusesAFileThatIsThere) {
  const TemporaryDirectory scratch;
  ASSERT_TRUE(RankLog::create(scratch.path(), 0, 1, 77));
  const auto again = RankLog::create(scratch.path(), 0, 1, 77);
  ASSERT_FALSE(again);
  EXPECT_THAT(again.error().to_string(), HasSubstr("rank-00000.rec: File exists"));
}

/// Where each block of a sound file begins, and the end of the last.
std::vector<std::size_t> block_bounds(const std::string& bytes) {
  std::vector<std::size_t> bounds;
  std::size_t at = sizeof(format::FileHeader);
  while (at < bytes.size()) {
    bounds.push_back(at);
    format::BlockHeader header;
    std::memcpy(&header, bytes.data() + at, sizeof(header));
    at += sizeof(header) + header.payload_bytes;
  }
  bounds.push_back(at);
  return bounds;
}

std::uint32_t records_of_block(const std::string& bytes, std::size_t at) {
  format::BlockHeader header;
  std::memcpy(&header, bytes.data() + at, sizeof(header));
  return header.type == format::BlockType::kEnd ? 0 : header.records;
}

TEST(RunReader, ReadsAFileCutAtAnyByteUpToItsLastWholeBlock) {
  const TemporaryDirectory scratch;
  write_sample(scratch.file("run"), 1, 2, 2);
  const std::string path = scratch.file("run/rank-00000.rec");
  const std::string bytes = slurp(path);
  const std::vector<std::size_t> bounds = block_bounds(bytes);
  ASSERT_EQ(bounds.back(), bytes.size());
  ASSERT_EQ(bounds.size(), 8U);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    spill(path, bytes.substr(0, length));
    std::size_t whole = 0;
    for (std::size_t i = 0; i + 1 < bounds.size(); ++i) {
      if (bounds[i + 1] <= length) whole += records_of_block(bytes, bounds[i]);
    }
    Seen seen;
    const auto summary = read_run(scratch.file("run"), seen);
    ASSERT_TRUE(summary) << length;
    ASSERT_EQ(seen.total(), whole) << length;
    ASSERT_FALSE(summary->ranks[0].complete) << length;
    ASSERT_EQ(summary->ranks[0].bad_blocks, 0U) << length;
    ASSERT_FALSE(summary->notes.empty()) << length;
  }
}

TEST(RunReader, LosesOneBlockForAFlippedBitAndSaysSo) {
  const TemporaryDirectory scratch;
  write_sample(scratch.file("run"), 1, 2, 2);
  const std::string path = scratch.file("run/rank-00000.rec");
  const std::string bytes = slurp(path);
  const std::vector<std::size_t> bounds = block_bounds(bytes);
  const std::size_t total = 3 * 2 * 2;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << (at % 8)));
    spill(path, damaged);
    std::size_t lost = 0;
    if (at >= bounds.front()) {
      const auto next = std::upper_bound(bounds.begin(), bounds.end(), at);
      lost = records_of_block(bytes, *(next - 1));
    }
    Seen seen;
    const auto summary = read_run(scratch.file("run"), seen);
    ASSERT_TRUE(summary) << at;
    ASSERT_EQ(seen.total(), total - lost) << at;
    ASSERT_EQ(summary->ranks[0].bad_blocks, at < bounds.front() ? 0U : 1U) << at;
    ASSERT_FALSE(summary->notes.empty()) << at;
  }
}

TEST(RunReader, FindsItsWayThroughForeignBytesAndRepeatedBlocks) {
  const TemporaryDirectory scratch;
  write_sample(scratch.file("run"), 1, 3, 4);
  const std::string path = scratch.file("run/rank-00000.rec");
  const std::string bytes = slurp(path);
  const std::vector<std::size_t> bounds = block_bounds(bytes);
  Random random(5);
  std::string noise(5000, '\0');
  for (char& c : noise) c = static_cast<char>("SBLK"[random.below(4)]);
  const std::string repeated = bytes.substr(bounds[1], bounds[2] - bounds[1]);
  for (const std::string& inserted : {noise, repeated}) {
    spill(path, bytes.substr(0, bounds[2]) + inserted + bytes.substr(bounds[2]));
    Seen seen;
    const auto summary = read_run(scratch.file("run"), seen);
    ASSERT_TRUE(summary);
    EXPECT_EQ(seen.total(), 36U);
    EXPECT_TRUE(summary->ranks[0].complete);
    EXPECT_EQ(summary->ranks[0].bad_blocks, 1U);
  }
  // Two whole blocks taken out: counted from the gap in the sequence.
  spill(path, bytes.substr(0, bounds[2]) + bytes.substr(bounds[4]));
  Seen seen;
  const auto summary = read_run(scratch.file("run"), seen);
  ASSERT_TRUE(summary);
  EXPECT_EQ(summary->ranks[0].bad_blocks, 2U);
  EXPECT_THAT(summary->notes, ::testing::Contains(HasSubstr("8 of its 36 records are lost")));
}

TEST(RunReader, RandomBytesNeverCrashIt) {
  const TemporaryDirectory scratch;
  write_sample(scratch.file("run"), 1, 2, 3);
  const std::string path = scratch.file("run/rank-00000.rec");
  const std::string bytes = slurp(path);
  Random random(11);
  for (int round = 0; round < 300; ++round) {
    std::string damaged = bytes;
    const std::uint64_t edits = 1 + random.below(200);
    for (std::uint64_t i = 0; i < edits; ++i) {
      damaged[random.below(damaged.size())] = static_cast<char>(random.next());
    }
    spill(path, damaged);
    Seen seen;
    const auto summary = read_run(scratch.file("run"), seen);
    ASSERT_TRUE(summary);
    ASSERT_LE(seen.total(), 18U);
    // What passes its checksum is what was written.
    for (const auto& [rank, span] : seen.spans) {
      ASSERT_TRUE(same_fields(span, make_span(static_cast<std::uint64_t>(span.chunk), 1)));
    }
  }
}

TEST(RunReader, NamesMissingRanksAndFilesOfAnotherRun) {
  const TemporaryDirectory scratch;
  write_sample(scratch.file("run"), 3, 1, 4);
  ASSERT_EQ(::unlink(scratch.file("run/rank-00001.rec").c_str()), 0);
  ASSERT_EQ(::unlink(scratch.file("run/rank-00002.rec").c_str()), 0);
  {
    auto log = RankLog::create(scratch.file("run"), 2, 3, 78);
    ASSERT_TRUE(log);
    record::Recorder recorder(64);
    recorder.add_lane()->push(make_span(0, 3));
    ASSERT_TRUE(log->finish(recorder));
  }
  Seen seen;
  const auto summary = read_run(scratch.file("run"), seen);
  ASSERT_TRUE(summary);
  EXPECT_EQ(seen.total(), 12U);
  EXPECT_FALSE(summary->ranks[1].present);
  EXPECT_TRUE(summary->ranks[2].present);
  EXPECT_EQ(summary->ranks[2].records, 0U);
  EXPECT_THAT(
      summary->notes,
      ElementsAre("rank 1: no record file", "rank 2: its file is of another run; not read"));
}

TEST(RunReader, PutsTimesOnTheReferenceClock) {
  const TemporaryDirectory scratch;
  RunInfo run = write_sample(scratch.file("run"), 2, 1, 20);
  run.clocks[1] = {1, -500'000, 2'000'000, 900'000, 10};  // 2 ms per second fast, from 900 µs on
  ASSERT_TRUE(testing::slurp(scratch.file("run/run.json")).size() > 0);
  {
    const auto text = scratch.file("run/run.json");
    ASSERT_EQ(::unlink(text.c_str()), 0);
    // The directory is a run's already: write the file through a second, empty one.
    auto other = RunWriter::create(scratch.file("other"), Existing::kRefuse);
    ASSERT_TRUE(other);
    ASSERT_TRUE(other->write_info(run));
    spill(text, slurp(scratch.file("other/run.json")));
  }
  Seen seen;
  ASSERT_TRUE(read_run(scratch.file("run"), seen));
  ASSERT_EQ(seen.spans.size(), 40U);
  EXPECT_TRUE(same_fields(seen.spans[5].second, make_span(5, 2)));
  const record::Span original = make_span(10, 2);
  // 1,001,000 − 500,000 + 0.002 · 101,000
  EXPECT_EQ(original.begin_ns, 1'001'000U);
  EXPECT_EQ(seen.spans[30].second.begin_ns, 501'202U);
  EXPECT_EQ(seen.puts[20 + 6].second.completed_ns, 0U) << "never completed stays never";
  EXPECT_EQ(seen.puts[20 + 5].second.posted_ns, 1'000'520U - 500'000U + 201U);
}

TEST(RunReader, NoTimeGoesBelowZero) {
  ClockFit fit;
  fit.offset_ns = -2000;
  EXPECT_EQ(to_reference(fit, 1000), 0U);
  EXPECT_EQ(to_reference(fit, 2500), 500U);
}

}  // namespace
}  // namespace shunt::profile
