// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "verdict/explain.hpp"

#include <filesystem>
#include <set>
#include <string>

#include <gtest/gtest.h>

namespace shunt::verdict {
namespace {

TEST(Explanations, AreCompleteAndUnique) {
  std::set<std::string_view> seen;
  for (const Explanation& entry : explanations()) {
    EXPECT_TRUE(seen.insert(entry.id).second) << entry.id << " twice";
    for (const std::string_view part :
         {entry.fires_when, entry.needs, entry.derivation, entry.source}) {
      EXPECT_FALSE(part.empty()) << entry.id;
    }
    EXPECT_EQ(explanation_of(entry.id), &entry);
  }
  EXPECT_EQ(explanation_of("no-such-finding"), nullptr);
}

TEST(Explanations, HaveAPageEach) {
  for (const Explanation& entry : explanations()) {
    const auto page = std::filesystem::path(SHUNT_FINDINGS) / (std::string(entry.id) + ".md");
    EXPECT_TRUE(std::filesystem::exists(page)) << page;
  }
}

}  // namespace
}  // namespace shunt::verdict
