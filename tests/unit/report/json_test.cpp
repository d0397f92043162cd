// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "report/json.hpp"

#include <algorithm>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "report/run_report.hpp"
#include "support/synthetic_run.hpp"

namespace shunt::report {
namespace {

nlohmann::json parsed(const test::SyntheticRun& run) {
  return nlohmann::json::parse(render_json(build_report(run.summary(), run.measure())));
}

TEST(Json, KeepsIntegersAndNulls) {
  test::SyntheticRun run;
  run.rating.reset();
  const auto json = parsed(run);
  EXPECT_EQ(json["schema"], "shunt.report/1");
  const auto& phases = json["tables"][0];
  EXPECT_EQ(phases["id"], "dispatch_phases");
  EXPECT_EQ(phases["rows"][1]["dur_p50_ns"], 2'000'000);
  EXPECT_TRUE(phases["rows"][0]["rate_p50_gb_per_s"].is_null());
  EXPECT_TRUE(json["bars"][0]["utilisation_share"].is_null());
  EXPECT_EQ(json["ledger"]["tokens"], 4096);
}

TEST(Json, GivesOperationTimesAsNumbers) {
  const test::SyntheticRun run;
  const auto measures = run.measure();
  const auto json = parsed(run);
  ASSERT_EQ(json["operations"].size(), measures.operations.size());
  for (std::size_t i = 0; i < measures.operations.size(); ++i) {
    const auto& time = json["operations"][i];
    EXPECT_EQ(time["operation"], record::to_string(measures.operations[i].kind));
    EXPECT_EQ(time["iterations"], run.iterations);
    EXPECT_EQ(time["samples_ns"].size(), static_cast<std::size_t>(run.iterations));
    EXPECT_NEAR(time["p50_ns"].get<double>(), measures.operations[i].duration_ns.p50, 0.5);
    EXPECT_GT(time["min_ns"], 0);
    EXPECT_LE(time["min_ns"], time["p50_ns"]);
    EXPECT_LE(time["p50_ns"], time["max_ns"]);
    EXPECT_EQ(time["max_ns"],
              *std::max_element(time["samples_ns"].begin(), time["samples_ns"].end()));
  }
}

TEST(Json, ReplacesBytesThatAreNoUtf8) {
  Report report{.title = "bad \xff byte"};
  EXPECT_NE(render_json(report).find("bad \xef\xbf\xbd byte"), std::string::npos);
}

TEST(Csv, QuotesAndLeavesUnavailableEmpty) {
  Report report;
  report.tables.push_back({"t", "", {{"name", "", Unit::kText}, {"n_ns", "", Unit::kNs}}, {}, {}});
  report.tables[0].rows = {{std::string("a, \"b\""), 1.6}, {std::string("c"), Value{}}};
  EXPECT_EQ(render_csv(report, "").value(), "name,n_ns\r\n\"a, \"\"b\"\"\",2\r\nc,\r\n");
  EXPECT_NE(render_csv(report, "x").error().message.find("it has: t"), std::string::npos);
}

}  // namespace
}  // namespace shunt::report
