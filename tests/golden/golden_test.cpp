// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Every folder of inputs against its expectations; README.md beside this file explains the keys.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "logs/read_trace.hpp"
#include "logs/reader.hpp"
#include "logs/text.hpp"
#include "verdict/foreign.hpp"

namespace shunt {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

fs::path cases_dir() {
  const char* env = std::getenv("SHUNT_CASES");
  return env != nullptr ? fs::path(env) : fs::path(SHUNT_DEFAULT_CASES);
}

fs::path input_dir(const std::string& name) {
  const fs::path own = fs::path(SHUNT_GOLDEN_DIR) / "inputs" / name;
  return fs::exists(own) ? own : cases_dir() / name;
}

std::vector<fs::path> inputs_of(const fs::path& dir) {
  std::vector<fs::path> out;
  for (const auto& entry : fs::directory_iterator(dir)) {
    if (entry.path().filename() != "expected.md" && entry.is_regular_file()) {
      out.push_back(entry.path());
    }
  }
  std::ranges::sort(out);
  return out;
}

std::string text_of(const verdict::Finding& finding) {
  std::string out = finding.where + "\n" + finding.sentence + "\n" + finding.derivation + "\n" +
                    finding.action + "\n" + finding.confirm;
  for (const auto& evidence : finding.evidence) out += "\n" + evidence.name + " " + evidence.value;
  return out;
}

std::string listing(const std::vector<verdict::Finding>& findings) {
  std::string out;
  for (const auto& finding : findings) {
    out += std::string(to_string(finding.severity)) + " " + finding.id + ": " + finding.sentence +
           "\n";
  }
  return out;
}

class Golden : public testing::TestWithParam<std::string> {};

void check_ids(const json& expected, const std::vector<verdict::Finding>& findings) {
  std::set<std::string> ids;
  for (const auto& finding : findings) ids.insert(finding.id);
  for (const auto& id : expected.value("present", json::array())) {
    EXPECT_EQ(ids.count(id.get<std::string>()), 1U) << "missing " << id;
  }
  for (const auto& id : expected.value("absent", json::array())) {
    EXPECT_EQ(ids.count(id.get<std::string>()), 0U) << "false finding " << id;
  }
  if (!expected.contains("first")) return;
  const json& first = expected["first"];
  ASSERT_FALSE(findings.empty());
  if (first.is_array()) {
    const auto any = first.get<std::vector<std::string>>();
    EXPECT_NE(std::ranges::find(any, findings.front().id), any.end()) << findings.front().id;
  } else {
    EXPECT_EQ(findings.front().id, first.get<std::string>());
  }
}

void check_figures(const json& expected, const std::vector<verdict::Finding>& findings) {
  for (const auto& figure : expected.value("figures", json::array())) {
    const double value = figure["value"];
    const double tolerance = figure["tolerance"];
    bool found = false;
    for (const auto& finding : findings) {
      if (finding.id != figure["finding"]) continue;
      for (const auto& number : logs::all_numbers(text_of(finding))) {
        found = found || std::fabs(number.value - value) <= tolerance;
      }
    }
    EXPECT_TRUE(found) << "no " << value << " in " << figure["finding"];
  }
  for (const auto& say : expected.value("says", json::array())) {
    bool found = false;
    for (const auto& finding : findings) {
      found = found || (finding.id == say["finding"] &&
                        text_of(finding).find(say["text"].get<std::string>()) != std::string::npos);
    }
    EXPECT_TRUE(found) << say["finding"] << " does not say " << say["text"];
  }
  for (const auto& word : expected.value("never", json::array())) {
    for (const auto& finding : findings) {
      EXPECT_EQ(text_of(finding).find(word.get<std::string>()), std::string::npos)
          << finding.id << " says " << word;
    }
  }
}

void check_severity(const json& expected, const std::vector<verdict::Finding>& findings) {
  const std::string most = expected.value("max_severity", "");
  if (most.empty() || findings.empty()) return;
  const std::vector<std::string> order{"info", "notice", "warning", "critical"};
  const auto rank = [&](const std::string& name) {
    return std::ranges::find(order, name) - order.begin();
  };
  EXPECT_LE(rank(to_string(findings.front().severity)), rank(most)) << findings.front().id;
}

TEST_P(Golden, Concludes) {
  const fs::path dir = input_dir(GetParam());
  if (!fs::exists(dir)) GTEST_SKIP() << "no folder " << GetParam() << " (SHUNT_CASES)";
  std::ifstream file(fs::path(SHUNT_GOLDEN_DIR) / "expectations" / (GetParam() + ".json"));
  const json expected = json::parse(file);
  logs::Evidence evidence;
  for (const auto& assignment : expected.value("set", json::array())) {
    ASSERT_TRUE(logs::set_option(evidence, assignment.get<std::string>()));
  }
  for (const fs::path& path : inputs_of(dir)) {
    const auto read = logs::gather_file(path.string(), evidence);
    ASSERT_TRUE(read) << read.error().to_string();
  }
  const auto findings = verdict::judge_foreign(evidence);
  SCOPED_TRACE(listing(findings));
  check_ids(expected, findings);
  check_figures(expected, findings);
  check_severity(expected, findings);
  if (expected.contains("truncated")) {
    EXPECT_EQ(evidence.truncated.size(), expected["truncated"].get<std::size_t>());
  }
}

std::vector<std::string> names() {
  std::vector<std::string> out;
  for (const auto& entry : fs::directory_iterator(fs::path(SHUNT_GOLDEN_DIR) / "expectations")) {
    if (entry.path().extension() == ".json") out.push_back(entry.path().stem().string());
  }
  std::ranges::sort(out);
  return out;
}

std::string test_name(const testing::TestParamInfo<std::string>& info) {
  std::string out = info.param;
  std::ranges::replace_if(
      out, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return out;
}

INSTANTIATE_TEST_SUITE_P(Inputs, Golden, testing::ValuesIn(names()), test_name);

TEST(GoldenFolder, HasInputsOfItsOwn) {
  std::size_t own = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(SHUNT_GOLDEN_DIR) / "inputs")) {
    if (entry.is_directory()) {
      ++own;
      EXPECT_TRUE(fs::exists(fs::path(SHUNT_GOLDEN_DIR) / "expectations" /
                             (entry.path().filename().string() + ".json")))
          << entry.path() << " has no expectations";
    }
  }
  EXPECT_GE(own, 40U);
}

}  // namespace
}  // namespace shunt
