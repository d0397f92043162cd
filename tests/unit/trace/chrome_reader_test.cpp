// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "trace/chrome/chrome_reader.hpp"

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include "trace/chrome/collector.hpp"

namespace shunt::trace {
namespace {

struct Seen : ChromeVisitor {
  void event(const ChromeEvent& event) override {
    names.emplace_back(event.name);
    last = event;
    name = std::string(event.name);
  }
  std::vector<std::string> names;
  ChromeEvent last;
  std::string name;
};

Result<ChromeSummary> read(std::string_view text, ChromeVisitor& visitor) {
  const auto source = memory_bytes(text);
  return read_chrome(*source, visitor);
}

TEST(Microseconds, DigitsBecomeNanosecondsExactly) {
  EXPECT_EQ(microseconds_to_ns("1682725898103248"), 1682725898103248000);
  EXPECT_EQ(microseconds_to_ns("1682725898103248.123"), 1682725898103248123);
  EXPECT_EQ(microseconds_to_ns("0.0004"), 0);
  EXPECT_EQ(microseconds_to_ns("0.0005"), 1);
  EXPECT_EQ(microseconds_to_ns("1.5"), 1500);
  EXPECT_EQ(microseconds_to_ns("-2.25"), -2250);
  EXPECT_EQ(microseconds_to_ns("1e3"), 1000000);
  EXPECT_EQ(microseconds_to_ns("9223372036854775807"), std::nullopt);
  for (const char* text : {"", "x", ".5", "1.2.3", "12 "}) {
    EXPECT_EQ(microseconds_to_ns(text), std::nullopt) << text;
  }
}

TEST(ReadChrome, FieldsHeaderAndArguments) {
  Seen seen;
  const auto summary = read(
      R"({"schemaVersion":1,"distributedInfo":{"backend":"nccl","rank":3,"world_size":16},
          "baseTimeNanoseconds": 1700000000000000000,
          "traceEvents":[
          {"ph":"M","name":"process_name","pid":1,"args":{"name":"python"}},
          {"ph":"X","cat":"kernel","name":"k","pid":"seven","tid":84,"ts":"12.5","dur":2.25,
           "args":{"bytes":77,"deep":{"ts":1,"list":[[1],{"dur":9}]},
                   "Input Dims":[[4,8],[3,5,7],[]],"Input type":["unsigned char","x"],
                   "Group size":16}}],
          "displayTimeUnit":"ms"})",
      seen);
  ASSERT_TRUE(summary) << summary.error().message;
  EXPECT_EQ(summary->events, 2U);
  EXPECT_EQ(summary->header.rank, 3);
  EXPECT_EQ(summary->header.world, 16);
  EXPECT_EQ(summary->header.base_ns, 1700000000000000000);
  EXPECT_FALSE(summary->ends_early_at);
  EXPECT_EQ(seen.last.ts_ns, 12500);
  EXPECT_EQ(seen.last.dur_ns, 2250);
  EXPECT_EQ(seen.last.tid, 84);
  EXPECT_NE(seen.last.pid, 0);
  EXPECT_EQ(seen.last.bytes, 77);
  EXPECT_EQ(seen.last.first_dim, 32);
  EXPECT_EQ(seen.last.second_dim, 105);
  EXPECT_EQ(seen.last.group_size, 16);
  EXPECT_EQ(seen.name, "k");
}

TEST(ReadChrome, BareArrayTrailingCommaMissingEnd) {
  Seen seen;
  auto summary = read(R"([{"name":"a","ph":"B","ts":1},{"name":"a","ph":"E","ts":2},])", seen);
  ASSERT_TRUE(summary);
  EXPECT_EQ(summary->events, 2U);
  EXPECT_FALSE(summary->ends_early_at);
  const std::string open = R"([{"name":"a","ph":"B","ts":1},{"name":"a","ph":"E","ts":2})";
  summary = read(open, seen);
  ASSERT_TRUE(summary);
  EXPECT_EQ(summary->events, 2U);
  EXPECT_EQ(summary->ends_early_at, open.size());
}

TEST(ReadChrome, EveryCutGivesTheEventsBeforeIt) {
  const std::string whole =
      R"({"traceEvents":[{"name":"one","ph":"X","ts":1,"dur":1},{"name":"two","ph":"X","ts":3,"dur":1}]})";
  const std::size_t first = whole.find('}') + 1;
  const std::size_t second = whole.find('}', first) + 1;
  for (std::size_t length = 0; length < whole.size(); ++length) {
    Seen seen;
    const auto summary = read(std::string_view(whole).substr(0, length), seen);
    const std::size_t expected = (length >= first ? 1U : 0U) + (length >= second ? 1U : 0U);
    EXPECT_EQ(seen.names.size(), expected) << length;
    EXPECT_EQ(summary.has_value(), expected > 0) << length;
    EXPECT_TRUE(!summary || summary->ends_early_at) << length;
  }
}

TEST(ReadChrome, DeepNestingAndGarbageEndCleanly) {
  Seen seen;
  EXPECT_FALSE(read(std::string(100000, '['), seen));
  EXPECT_FALSE(read("", seen));
  EXPECT_FALSE(read("not json", seen));
  EXPECT_FALSE(read("{}", seen));
  std::mt19937 random(3);
  const std::string alphabet = "{}[]\",:0123.e-abphts";
  for (int round = 0; round < 3000; ++round) {
    std::string text = R"({"traceEvents":[{"ph":"X",)";
    for (int i = 0; i < 40; ++i) text += alphabet[random() % alphabet.size()];
    (void)read(text, seen);
  }
}

TEST(ReadChrome, CompressedFilesGiveTheSameEvents) {
  std::string text = "[";
  for (int i = 0; i < 20000; ++i) {
    text += R"({"name":"k","ph":"X","ts":)" + std::to_string(i) + R"(,"dur":1},)";
  }
  text += "]";
  const auto base =
      std::filesystem::temp_directory_path() / ("shunt-trace-" + std::to_string(::getpid()));
  const auto check = [&text](const std::string& path, std::uint64_t events) {
    auto source = open_bytes(path);
    ASSERT_TRUE(source) << source.error().message;
    Seen seen;
    const auto summary = read_chrome(**source, seen);
    ASSERT_TRUE(summary) << summary.error().message;
    EXPECT_EQ(summary->events, events);
    EXPECT_EQ(summary->bytes, text.size());
  };
  const std::string plain = base.string() + ".json";
  std::ofstream(plain) << text;
  check(plain, 20000);
  const std::string gz = base.string() + ".json.gz";
  gzFile file = gzopen(gz.c_str(), "wb");
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
  check(gz, 20000);
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 3));
  const std::string zst = base.string() + ".json.zst";
  std::ofstream(zst, std::ios::binary) << packed;
  check(zst, 20000);
  std::ofstream(zst, std::ios::binary) << packed.substr(0, packed.size() / 2);
  auto source = open_bytes(zst);
  Seen seen;
  const auto summary = read_chrome(**source, seen);
  EXPECT_TRUE(!summary || summary->ends_early_at);
  for (const std::string& path : {plain, gz, zst}) std::remove(path.c_str());
  EXPECT_FALSE(open_bytes(plain));
}

ForeignTrace collect(std::string_view text) {
  const PhaseTable table;
  Collector collector(table);
  auto summary = read(text, collector);
  return summary ? collector.finish(std::move(*summary)) : ForeignTrace{};
}

std::string span(const std::string& name, int tid, double begin, double end) {
  const auto event = [&](char phase, double ts) {
    return R"({"name":")" + name + R"(","cat":"gpu_kernel","ph":")" + phase + R"(","ts":)" +
           std::to_string(ts) + R"(,"pid":0,"tid":)" + std::to_string(tid) + "},";
  };
  return event('B', begin) + event('E', end);
}

TEST(Collector, MoriRoundsFromWarpsInAnyOrder) {
  std::string text = R"({"traceEvents":[)";
  // The file holds one warp after another, each with both rounds.
  for (int warp = 0; warp < 3; ++warp) {
    for (double base : {0.0, 1000.0}) {
      text += span("ep_dispatch_copy_to_staging", warp, base + warp, base + 10);
      text += span("dispatch_inter_node_recv", warp, base + 20, base + 100 + warp);
      text += span("ep_combine_all", warp, base + 200, base + 210 + warp);
    }
  }
  text += R"({"name":"x","ph":"i","ts":5}]})";
  const ForeignTrace trace = collect(text);
  EXPECT_EQ(trace.kind, "MORI kernel trace");
  ASSERT_EQ(trace.rounds.size(), 2U);
  EXPECT_EQ(trace.rounds[0].whole.begin_ns, 0);
  EXPECT_EQ(trace.rounds[0].whole.end_ns, 212000);
  EXPECT_EQ(trace.rounds[1].whole.begin_ns, 1000000);
  EXPECT_EQ(trace.rounds[1].phases.at("dispatch_inter_node_recv").end_ns, 1102000);
  ASSERT_EQ(trace.phases.size(), 3U);
  EXPECT_EQ(trace.phases[0].phase, "copy_to_staging");
  EXPECT_EQ(trace.phases[1].spans, 6U);
  EXPECT_EQ(trace.phases[1].max_ns, 82000);
  EXPECT_EQ(trace.orphans, 0U);
}

TEST(Collector, OrphansAreCounted) {
  const ForeignTrace trace = collect(
      R"([{"name":"dispatch_intra","cat":"gpu_kernel","ph":"E","ts":1,"tid":1},
          {"name":"dispatch_intra","cat":"gpu_kernel","ph":"B","ts":2,"tid":2}])");
  EXPECT_EQ(trace.orphans, 2U);
  EXPECT_TRUE(trace.phases.empty());
}

TEST(Collector, KernelsAndCallsOfKineto) {
  const ForeignTrace trace = collect(
      R"([{"ph":"X","cat":"cpu_op","name":"c10d::alltoall_base_","ts":1,"dur":2,
           "args":{"Input Dims":[[300],[200]],"Input type":["c10::BFloat16"]}},
          {"ph":"X","cat":"kernel","name":"ncclDevKernel_SendRecv","ts":5,"dur":10},
          {"ph":"X","cat":"kernel","name":"gemm","ts":5,"dur":10}])");
  EXPECT_EQ(trace.kind, "Kineto trace");
  ASSERT_EQ(trace.kernels.size(), 1U);
  EXPECT_EQ(trace.kernels[0].phase, "all_to_all");
  EXPECT_EQ(trace.kernels[0].end_ns, 15000);
  ASSERT_EQ(trace.calls.size(), 1U);
  EXPECT_EQ(trace.calls[0].sent_bytes, 400);
  EXPECT_EQ(trace.calls[0].received_bytes, 600);
}

TEST(PhaseTable, OwnRulesComeFirst) {
  PhaseTable table;
  EXPECT_EQ(table.phase_of("void deep_ep::internode_ll::dispatch<true>(int)"), "dispatch");
  EXPECT_EQ(table.phase_of("gemm"), "");
  ASSERT_TRUE(table.add("rules", "# mine\ngemm -> expert\n=dispatch_intra -> local\n"));
  EXPECT_EQ(table.phase_of("my_gemm_kernel"), "expert");
  EXPECT_EQ(table.phase_of("dispatch_intra"), "local");
  const auto bad = table.add("rules", "ok -> x\nnothing here\n");
  ASSERT_FALSE(bad);
  EXPECT_NE(bad.error().message.find("rules line 2"), std::string::npos);
}

}  // namespace
}  // namespace shunt::trace
