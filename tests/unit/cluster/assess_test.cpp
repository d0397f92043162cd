// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "cluster/assess.hpp"

#include <cstdlib>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shunt::cluster {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// GPUs joined by `link`, GPU i near NIC i, far from the others.
Topology node(int gpus, int nics, const char* link = "NV18") {
  Topology topology;
  topology.source = "nvidia-smi topo -m";
  for (int i = 0; i < gpus + nics; ++i) {
    Device device;
    device.kind = i < gpus ? DeviceKind::kGpu : DeviceKind::kNic;
    device.index = i < gpus ? i : i - gpus;
    device.label = fmt::format("{}{}", i < gpus ? "GPU" : "NIC", device.index);
    topology.add(device);
  }
  for (int a = 0; a < gpus + nics; ++a) {
    for (int b = 0; b < gpus + nics; ++b) {
      if (a == b) continue;
      const bool both_gpus = a < gpus && b < gpus;
      const bool pair = std::abs(a - b) == gpus;
      topology.cell(static_cast<std::size_t>(a), static_cast<std::size_t>(b)) =
          *parse_path(both_gpus ? link
                      : pair    ? "PIX"
                                : "SYS");
    }
  }
  return topology;
}

void set(Topology& topology, std::size_t a, std::size_t b, const char* word) {
  topology.cell(a, b) = topology.cell(b, a) = *parse_path(word);
}

struct Count {
  std::size_t own = 0, problem = 0, trap = 0;
};
Count count(const Assessment& assessment) {
  Count count;
  for (const CellMark& mark : assessment.cells) {
    count.own += mark.own;
    count.problem += mark.problem;
    count.trap += mark.trap;
  }
  return count;
}

TEST(Assess, AGoodNodeHasPairsAndNoProblems) {
  const Assessment found = assess(node(4, 4));
  EXPECT_THAT(found.problems, IsEmpty());
  EXPECT_EQ(count(found).own, 8U) << "four pairs, both cells of each";
  EXPECT_EQ(count(found).problem, 0U);
  EXPECT_EQ(count(found).trap, 0U);
}

TEST(Assess, AGpuWithoutLinksIsMarkedInItsRowAndColumn) {
  Topology topology = node(4, 4);
  for (const std::size_t other : {0U, 1U, 3U}) set(topology, 2, other, "SYS");
  const Assessment found = assess(topology);
  EXPECT_THAT(found.problems, ElementsAre("GPU2: no NVLink, where other pairs have 18 links"));
  for (std::size_t other = 0; other < 4; ++other) {
    EXPECT_EQ(found.cells[2 * 8 + other].problem, other != 2);
    EXPECT_EQ(found.cells[other * 8 + 2].problem, other != 2);
  }
  EXPECT_EQ(count(found).problem, 6U);
}

TEST(Assess, ARegularBoardWithoutSwitchIsAsDesigned) {
  Topology topology = node(4, 0, "NV4");
  set(topology, 0, 3, "SYS");
  set(topology, 1, 2, "SYS");
  EXPECT_THAT(assess(topology).problems, IsEmpty());
  set(topology, 0, 2, "SYS");
  EXPECT_THAT(assess(topology).problems, ElementsAre("3 of 6 GPU pairs have no NVLink"));
}

TEST(Assess, FewerLinksThanTheOthersAreMarked) {
  Topology topology = node(4, 0);
  for (const std::size_t other : {0U, 2U, 3U}) set(topology, 1, other, "NV12");
  const Assessment found = assess(topology);
  EXPECT_THAT(found.problems, ElementsAre("GPU1: 12 links, where the others have 18"));
  EXPECT_EQ(count(found).problem, 6U);
}

TEST(Assess, FarAndSharedNicsAreMarked) {
  Topology topology = node(4, 2);
  const Assessment found = assess(topology);
  // GPU0 and GPU1 have their own; the others are far from both, and only borrow.
  EXPECT_THAT(found.problems,
              ElementsAre("GPU2, GPU3: the nearest NIC is SYS, beyond PCIe bridges"));
  set(topology, 2, 4, "PXB");
  set(topology, 2, 5, "PXB");
  set(topology, 3, 4, "PIX");
  const Assessment shared = assess(topology);
  ASSERT_EQ(shared.problems.size(), 1U);
  EXPECT_THAT(shared.problems[0], HasSubstr("shared by"));
}

TEST(Assess, NicsOfACoherentCpuAreNotFar) {
  Topology topology = node(2, 2);
  for (std::size_t gpu = 0; gpu < 2; ++gpu) set(topology, gpu, gpu + 2, "NODE");
  EXPECT_FALSE(assess(topology).problems.empty());
  topology.devices[0].own_numa = "4";
  EXPECT_THAT(assess(topology).problems, IsEmpty());
}

TEST(Assess, AnIndexThatPicksAFarNicIsATrap) {
  Topology topology = node(2, 2);
  set(topology, 0, 2, "SYS");
  set(topology, 0, 3, "PIX");
  set(topology, 1, 3, "SYS");
  set(topology, 1, 2, "PIX");
  const Assessment found = assess(topology);
  EXPECT_TRUE(found.cells[0 * 4 + 2].trap);
  EXPECT_TRUE(found.cells[0 * 4 + 3].own);
  EXPECT_EQ(count(found).trap, 4U);
  EXPECT_THAT(found.problems, IsEmpty());
}

}  // namespace
}  // namespace shunt::cluster
