// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// What is printed as JSON against docs/schemas: no key that is not documented, no value of another
// kind. The inputs are those of the golden tests, own runs, and comparisons of both.
#include <filesystem>
#include <fstream>
#include <optional>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cluster/topology.hpp"
#include "logs/read_trace.hpp"
#include "logs/reader.hpp"
#include "report/compare.hpp"
#include "report/foreign_report.hpp"
#include "report/json.hpp"
#include "report/run_report.hpp"
#include "support/json_schema.hpp"
#include "support/synthetic_run.hpp"

namespace shunt::report {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::JsonSchema;

JsonSchema schema(const std::string& name) {
  std::ifstream file(SHUNT_SOURCE_DIR "/docs/schemas/" + name);
  return JsonSchema(json::parse(file));
}

json parsed(const Report& report) {
  return json::parse(render_json(report));
}

Report report_of(const test::SyntheticRun& run) {
  return build_report(run.summary(), run.measure());
}

std::vector<Report> golden_reports() {
  std::vector<Report> reports;
  for (const auto& folder : fs::directory_iterator(SHUNT_SOURCE_DIR "/tests/golden/inputs")) {
    logs::Evidence evidence;
    for (const auto& entry : fs::directory_iterator(folder)) {
      EXPECT_TRUE(logs::gather_file(entry.path().string(), evidence)) << entry.path();
    }
    reports.push_back(build_foreign_report(evidence));
  }
  return reports;
}

/// Shapes that the golden inputs lack.
constexpr std::string_view kMatrix =
    "        GPU0    GPU1    NIC0    CPU Affinity    NUMA Affinity\n"
    "GPU0     X      NV18    PIX     0-7     0\nGPU1    NV18     X      SYS     0-7     0\n";
constexpr std::string_view kCounters =
    "before\n# Port counters: Lid 10 port 1\nPortXmitData:....................100000\n"
    "PortRcvData:.....................200000\nLinkDownedCounter:...............3\n"
    "PortXmitWait:....................18446744073709551615\n";

TEST(Schema, EveryReportOnLogsIsDocumented) {
  const JsonSchema documented = schema("report.json");
  std::vector<Report> reports = golden_reports();
  ASSERT_GE(reports.size(), 40U);
  for (const std::string_view text : {kMatrix, kCounters}) {
    logs::Evidence evidence;
    logs::gather(logs::make_document("paste.txt", text), evidence);
    reports.push_back(build_foreign_report(evidence));
  }
  EXPECT_EQ(reports[reports.size() - 2].matrices.size(), 1U);
  EXPECT_FALSE(reports.back().tables.empty());
  for (const Report& report : reports) {
    EXPECT_EQ(documented.check(parsed(report)), "") << report.title;
    EXPECT_EQ(documented.check(parsed(compare(reports.front(), report, 0.05))), "");
    EXPECT_EQ(documented.check(parsed(compare(report, report, 0.05))), "");
  }
}

TEST(Schema, EveryReportOnRunsIsDocumented) {
  const JsonSchema documented = schema("report.json");
  test::SyntheticRun partial;
  partial.missing[1] = true;
  test::SyntheticRun unrated;
  unrated.rating.reset();
  test::SyntheticRun slow;
  slow.wire_bytes_per_ns = 0.06;
  slow.counter_factor = 1.2;
  const Report good = report_of(test::SyntheticRun{});
  for (const test::SyntheticRun& run : {test::SyntheticRun{}, partial, unrated, slow}) {
    const Report report = report_of(run);
    EXPECT_EQ(documented.check(parsed(report)), "");
    EXPECT_EQ(documented.check(parsed(compare(good, report, 0.05))), "");
  }
}

TEST(Schema, EveryProgressThreadHasARow) {
  const test::SyntheticRun run;
  profile::RecordingSummary summary = run.summary();
  summary.run.config.proxy_threads = 2;
  summary.run.progress.emplace();
  for (int rank = 0; rank < 2; ++rank) {
    for (int t = 0; t < 2; ++t) summary.run.progress->push_back({rank, t, 250, 1000, 12, 3, 0});
  }
  summary.run.progress->push_back({2, std::nullopt, 500, 1000});  // Of an older writer.
  const json report = parsed(build_report(summary, run.measure()));
  EXPECT_EQ(schema("report.json").check(report), "");
  EXPECT_EQ(report.at("context").at("proxy_threads"), 2);
  json threads;
  for (const json& table : report.at("tables")) {
    if (table.at("id") != "progress") continue;
    for (const json& row : table.at("rows")) threads.push_back({row["rank"], row["thread"]});
  }
  EXPECT_EQ(threads, json::parse("[[0, 0], [0, 1], [1, 0], [1, 1], [2, 0]]"));
}

TEST(Schema, ATopologyIsDocumented) {
  logs::Evidence evidence;
  logs::gather(logs::make_document("topo.txt", kMatrix), evidence);
  ASSERT_EQ(evidence.topologies.size(), 1U);
  const json value = json::parse(cluster::to_json(evidence.topologies.front().topology));
  EXPECT_EQ(value.at("devices").size(), 3U);
  EXPECT_EQ(schema("topology.json").check(value), "");
}

TEST(Schema, DeviationsAreFound) {
  const JsonSchema documented = schema("report.json");
  const json good = parsed(report_of(test::SyntheticRun{}));
  ASSERT_EQ(documented.check(good), "");
  const auto faulty = [&](const char* pointer, const json& value) {
    json changed = good;
    changed[json::json_pointer(pointer)] = value;
    return documented.check(changed);
  };
  EXPECT_NE(faulty("/surprise", 1), "");
  EXPECT_NE(faulty("/schema", "shunt.report/2"), "");
  EXPECT_NE(faulty("/tables/0/id", "unheard_of"), "");
  EXPECT_NE(faulty("/tables/0/rows/0/surprise", 1), "");
  EXPECT_NE(faulty("/tables/0/rows/0/dur_p50_ns", 1.5), "");
  EXPECT_NE(faulty("/bars/0/utilisation_share", 1.5), "");
  EXPECT_NE(faulty("/findings/0/severity", "dreadful"), "");
  EXPECT_NE(faulty("/ledger/payload_bytes", "many"), "");
  json lacking = good;
  lacking.erase("headline");
  EXPECT_EQ(documented.check(lacking), "$ lacks \"headline\"");
}

}  // namespace
}  // namespace shunt::report
