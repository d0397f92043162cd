// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "logs/ratings.hpp"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

namespace shunt::logs {
namespace {

TEST(Ratings, EveryRowIsPlausibleAndSourced) {
  for (const Rated& rated : ratings()) {
    EXPECT_GT(rated.gbs, 0) << rated.name;
    EXPECT_LE(rated.usable_gbs, rated.gbs) << rated.name;
    EXPECT_FALSE(rated.source.empty()) << rated.name;
    EXPECT_LE(rated.bridged, rated.links) << rated.name;
    EXPECT_TRUE(rated.links == 0 || rated.part == RatedPart::kGpu) << rated.name;
    EXPECT_EQ(find_rating(rated.part, rated.spellings.substr(0, rated.spellings.find('|'))), &rated)
        << rated.name << " is shadowed by a row above it";
  }
}

TEST(Ratings, WordsNotParts) {
  EXPECT_EQ(find_rating(RatedPart::kGpu, "8xH100 nodes")->name, "H100");
  EXPECT_EQ(find_rating(RatedPart::kGpu, "two GH200s")->name, "GH200");
  EXPECT_EQ(find_rating(RatedPart::kGpu, "H200")->name, "H200");
  EXPECT_EQ(find_rating(RatedPart::kGpu, "H2000"), nullptr);
  EXPECT_EQ(find_rating(RatedPart::kGpu, "NVIDIA H100 NVL")->bridged, 12);
  EXPECT_EQ(find_rating(RatedPart::kGpu, "NVIDIA H100 80GB HBM3")->bridged, 0);
  EXPECT_EQ(find_rating(RatedPart::kGpu, "NVIDIA H200 NVL")->bridged, 18);
  EXPECT_EQ(find_rating(RatedPart::kGpu, "NVIDIA A100-PCIE-40GB")->links, 12);
  EXPECT_EQ(find_rating(RatedPart::kNic, "two c5n.18xl instances")->name, "EFA of c5n, hpc6a");
  EXPECT_EQ(find_rating(RatedPart::kNic, "cx7 400G")->name, "ConnectX-7");
  EXPECT_EQ(find_rating(RatedPart::kInstance, "p5en.48xlarge")->name, "p5en");
}

TEST(Ratings, SmallestFittingRate) {
  EXPECT_DOUBLE_EQ(*smallest_fitting_rate(4.54), 5.0);
  EXPECT_DOUBLE_EQ(*smallest_fitting_rate(24.5), 25.0);
  EXPECT_FALSE(smallest_fitting_rate(150));
}

TEST(Ratings, DocumentIsInStep) {
  if (std::getenv("SHUNT_WRITE_DOCS") != nullptr) {
    std::ofstream(SHUNT_RATINGS_MD, std::ios::binary) << ratings_markdown();
  }
  std::ifstream file(SHUNT_RATINGS_MD, std::ios::binary);
  ASSERT_TRUE(file) << SHUNT_RATINGS_MD;
  const std::string text(std::istreambuf_iterator<char>(file), {});
  EXPECT_EQ(text, ratings_markdown()) << "write it again: SHUNT_WRITE_DOCS=1 test_logs";
}

}  // namespace
}  // namespace shunt::logs
