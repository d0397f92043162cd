// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "report/trace_timeline.hpp"

#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "logs/reader.hpp"

namespace shunt::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TraceTimeline drawn(const std::vector<std::string>& files) {
  logs::Evidence evidence;
  for (std::size_t i = 0; i < files.size(); ++i) {
    logs::gather(logs::make_document(fmt::format("dir/rank{}.json", i), files[i]), evidence);
  }
  return draw_traces(evidence);
}

/// Two rounds of a kernel trace, the second twice as long.
std::string rounds() {
  std::string events;
  for (const auto& [at, length] : {std::pair{0, 100}, {1000, 200}, {2000, 200}}) {
    int from = at;
    for (const char* name : {"ep_dispatch_copy_to_staging",
                             "dispatch_inter_node_send",
                             "dispatch_inter_node_recv",
                             "combine_inter_node"}) {
      events += fmt::format(
          R"({{"name":"{0}","cat":"gpu_kernel","ph":"B","ts":{1},"pid":0,"tid":1}},
             {{"name":"{0}","cat":"gpu_kernel","ph":"E","ts":{2},"pid":0,"tid":1}},)",
          name,
          from,
          from + length);
      from += length;
    }
  }
  events.pop_back();
  return "{\"traceEvents\":[" + events + "]}";
}

std::string kernels(int rank, int late) {
  std::string events;
  for (int i = 0; i < 20; ++i) {
    events += fmt::format(
        "{}{{\"name\":\"ncclDevKernel_SendRecv\",\"cat\":\"kernel\",\"ph\":\"X\",\"ts\":{},"
        "\"dur\":{},\"pid\":0,\"tid\":7}}",
        i == 0 ? "" : ",",
        i * 1000 + late,
        500 - late);
  }
  return fmt::format(
      "{{\"distributedInfo\":{{\"rank\":{},\"world_size\":2}},\"baseTimeNanoseconds\":5,"
      "\"traceEvents\":[{}]}}",
      rank,
      events);
}

TEST(TraceTimeline, DrawsTheTypicalRoundPhaseByPhase) {
  const TraceTimeline picture = drawn({rounds()});
  EXPECT_THAT(picture.title, HasSubstr("the typical round"));
  for (const char* phase : {"copy_to_staging", "dispatch_inter_node_recv", "combine_inter_node"}) {
    EXPECT_THAT(picture.markup, HasSubstr(std::string(">") + phase + "</text>"));
  }
  // The median of 400, 800 and 800 µs: the axis goes to 800.
  EXPECT_THAT(picture.markup, HasSubstr(">800</text>"));
  EXPECT_THAT(picture.markup, HasSubstr("time (µs)"));
  EXPECT_THAT(picture.markup, HasSubstr(">rank0.json</text>"));
}

TEST(TraceTimeline, PutsRanksOfOneClockUnderEachOther) {
  const TraceTimeline picture = drawn({kernels(0, 0), kernels(1, 300)});
  EXPECT_THAT(picture.title, HasSubstr("12 of 20 communication kernels, all ranks on one clock"));
  EXPECT_THAT(picture.markup, HasSubstr(">rank 0</text>"));
  EXPECT_THAT(picture.markup, HasSubstr(">rank 1</text>"));
}

TEST(TraceTimeline, LeavesOutACutCopyOfARank) {
  const std::string whole = kernels(0, 0);
  const std::string cut = whole.substr(0, whole.size() / 2);
  const auto count = [](const std::string& text, const std::string& what) {
    std::size_t found = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
      ++found;
    }
    return found;
  };
  EXPECT_EQ(count(drawn({whole, cut}).markup, ">rank 0</text>"), 1U);
  EXPECT_EQ(count(drawn({cut}).markup, ">rank 0</text>"), 1U);
}

TEST(TraceTimeline, DrawsNothingWithoutCommunication) {
  EXPECT_EQ(drawn({}).markup, "");
  EXPECT_EQ(
      drawn({R"({"traceEvents":[{"name":"gemm","cat":"kernel","ph":"X","ts":1,"dur":2}]})"}).markup,
      "");
}

}  // namespace
}  // namespace shunt::report
