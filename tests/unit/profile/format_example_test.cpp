// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// The worked example of docs/formats/run-directory.md is what the code reads and writes.
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "profile/rank_log.hpp"
#include "profile/run_reader.hpp"
#include "sample_run.hpp"
#include "support/temporary_directory.hpp"

namespace shunt::profile {
namespace {

/// The bytes of the page's last hex dump.
std::string example_bytes() {
  const std::string page = testing::slurp(SHUNT_SOURCE_DIR "/docs/formats/run-directory.md");
  const std::size_t begin = page.find("0000  53 48");
  if (begin == std::string::npos) return "";
  std::istringstream lines(page.substr(begin, page.find("```", begin) - begin));
  std::string bytes;
  std::string line;
  while (std::getline(lines, line)) {
    std::istringstream words(line.substr(4));
    for (std::string word; words >> word;) {
      bytes += static_cast<char>(std::stoi(word, nullptr, 16));
    }
  }
  return bytes;
}

record::Span example_span() {
  record::Span span;
  span.begin_ns = 1'000'100;
  span.end_ns = 1'000'900;
  span.bytes = 14'404;
  span.op = 5;
  span.peer = 1;
  span.chunk = 2;
  span.phase = record::Phase::kDispatchInterNodeRecv;
  span.block = 1;
  span.warp = 3;
  span.kind = record::SpanKind::kWait;
  span.reason = record::WaitReason::kCredit;
  return span;
}

record::Arrival example_arrival() {
  record::Arrival arrival;
  arrival.time_ns = 1'001'500;
  arrival.bytes = 921'952;
  arrival.op = 5;
  arrival.peer = 1;
  arrival.chunk = 0;
  arrival.qp = 1;
  arrival.phase = record::Phase::kDispatchInterNodeRecv;
  return arrival;
}

TEST(FormatExample, IsReadAsThePageSays) {
  const testing::TemporaryDirectory scratch;
  const std::string bytes = example_bytes();
  ASSERT_EQ(bytes.size(), 64U + 32 + 48 + 32 + 56 + 32 + 40);
  testing::spill(scratch.file(rank_file_name(0)), bytes);
  Seen seen;
  std::vector<std::string> notes;
  const RankFile file = read_rank(scratch.path(), make_run(2, 1), 0, seen, notes);
  EXPECT_TRUE(file.complete);
  EXPECT_EQ(file.bad_blocks, 0U);
  EXPECT_EQ(file.dropped, 2U);
  ASSERT_EQ(seen.spans.size(), 1U);
  ASSERT_EQ(seen.arrivals.size(), 1U);
  EXPECT_TRUE(same_fields(seen.spans[0].second, example_span()));
  EXPECT_TRUE(same_fields(seen.arrivals[0].second, example_arrival()));
}

TEST(FormatExample, IsWhatTheWriterWritesButForTimes) {
  const testing::TemporaryDirectory scratch;
  const std::string expected = example_bytes();
  auto log = RankLog::create(scratch.path(), 0, 2, 77);
  ASSERT_TRUE(log);
  record::Recorder recorder(64);
  record::Lane* lane = recorder.add_lane();
  lane->push(example_span());
  lane->push(example_arrival());
  ASSERT_TRUE(log->finish(recorder));
  const std::string written = testing::slurp(scratch.file(rank_file_name(0)));
  ASSERT_EQ(written.size(), expected.size());
  EXPECT_EQ(written.substr(0, 24), expected.substr(0, 24));
  EXPECT_EQ(written.substr(40, 20), expected.substr(40, 20));
  const std::size_t end_block = expected.size() - 72;
  EXPECT_EQ(written.substr(64, end_block - 64), expected.substr(64, end_block - 64));
}

}  // namespace
}  // namespace shunt::profile
