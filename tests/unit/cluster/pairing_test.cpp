// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "cluster/pairing.hpp"

#include <algorithm>
#include <random>
#include <string>

#include <gtest/gtest.h>

namespace shunt::cluster {
namespace {

/// Rows of GPU → NIC words: "PIX SYS" means GPU 0 is near NIC 0.
Topology make(const std::vector<std::vector<const char*>>& rows) {
  Topology topology;
  for (std::size_t gpu = 0; gpu < rows.size(); ++gpu) {
    Device device;
    device.index = static_cast<int>(gpu);
    device.label = "GPU" + std::to_string(gpu);
    topology.add(device);
  }
  for (std::size_t nic = 0; nic < rows.front().size(); ++nic) {
    Device device;
    device.kind = DeviceKind::kNic;
    device.index = static_cast<int>(nic);
    device.label = "NIC" + std::to_string(nic);
    topology.add(device);
  }
  for (std::size_t gpu = 0; gpu < rows.size(); ++gpu) {
    for (std::size_t nic = 0; nic < rows[gpu].size(); ++nic) {
      topology.cell(gpu, rows.size() + nic) = parse_path(rows[gpu][nic]).value_or(Path{});
    }
  }
  return topology;
}

std::string nic_of(const Topology& topology, const GpuNics& gpu) {
  return gpu.assigned ? topology.devices[*gpu.assigned].label : "-";
}

TEST(Pairing, FollowsTheMatrixNotTheIndex) {
  const Topology topology = make({{"PIX", "NODE", "SYS"}, {"NODE", "NODE", "PIX"}});
  const Pairing pairing = pair_nics(topology);
  EXPECT_EQ(nic_of(topology, pairing.gpus[0]), "NIC0");
  EXPECT_EQ(nic_of(topology, pairing.gpus[1]), "NIC2");
  ASSERT_EQ(pairing.spare.size(), 1U);
  EXPECT_EQ(topology.devices[pairing.spare[0]].label, "NIC1");
  EXPECT_EQ(nic_use(pairing).most(), 1U);
}

TEST(Pairing, FarGpuDoesNotTakeTheNicThatIsNearAnother) {
  const Topology topology = make({{"SYS", "SYS"}, {"PIX", "SYS"}});
  const Pairing pairing = pair_nics(topology);
  EXPECT_EQ(nic_of(topology, pairing.gpus[1]), "NIC0");
  EXPECT_EQ(nic_of(topology, pairing.gpus[0]), "NIC1");
}

TEST(Pairing, SharesEvenlyWhereItMust) {
  const Topology topology = make({{"PXB"}, {"PXB"}, {"PXB"}});
  EXPECT_EQ(nic_use(pair_nics(topology)).most(), 3U);
  const Topology two = make({{"SYS", "SYS"}, {"SYS", "SYS"}, {"SYS", "SYS"}, {"SYS", "SYS"}});
  EXPECT_EQ(nic_use(pair_nics(two)).most(), 2U);
}

TEST(Pairing, FarGpusCountAsUsersOnlyWhereAllAreFar) {
  const Pairing mixed = pair_nics(make({{"PIX"}, {"PIX"}, {"SYS"}}));
  const NicUse near = nic_use(mixed);
  EXPECT_FALSE(near.all_far);
  EXPECT_EQ(near.gpus, 3U);
  EXPECT_EQ(near.most(), 2U);
  EXPECT_EQ(near.users.at(3), (std::vector<std::size_t>{0, 1}));
  const NicUse far = nic_use(pair_nics(make({{"SYS"}, {"PHB"}, {"SYS"}})));
  EXPECT_TRUE(far.all_far);
  EXPECT_EQ(far.most(), 3U);
  EXPECT_FALSE(nic_use(Pairing{}).all_far);
}

TEST(Pairing, TheIndexIsATrapWhereItPicksAFarNicBesideANearOne) {
  const Topology topology = make({{"SYS", "PIX", "SYS"}, {"PXB", "SYS", "SYS"}, {"?", "SYS", "?"}});
  const Pairing pairing = pair_nics(topology);
  const auto traps = index_traps(topology, pairing);
  ASSERT_EQ(traps.size(), 2U);
  EXPECT_EQ(traps[0].gpu->gpu, 0U);
  EXPECT_EQ(traps[0].nic, 3U);
  EXPECT_EQ(traps[0].kind, PathKind::kSys);
  EXPECT_EQ(traps[1].gpu->gpu, 1U);
  EXPECT_EQ(traps[1].nic, 4U);
}

TEST(Pairing, CutRowProvesNothingUnlessTheNearNicIsInIt) {
  const Topology cut = make({{"NODE", "?"}});
  EXPECT_EQ(pair_nics(cut).gpus[0].kind, PathKind::kUnknown);
  EXPECT_FALSE(pair_nics(cut).gpus[0].assigned);
  const Topology near = make({{"PXB", "?"}});
  EXPECT_EQ(pair_nics(near).gpus[0].kind, PathKind::kPxb);
}

TEST(Pairing, LeavesOutNicsThatAreDown) {
  Topology topology = make({{"PIX", "NODE"}});
  topology.devices[1].state = "DOWN";
  const Pairing pairing = pair_nics(topology);
  EXPECT_EQ(nic_of(topology, pairing.gpus[0]), "NIC1");
  EXPECT_EQ(pairing.gpus[0].kind, PathKind::kNode);
}

/// Size of the largest set of GPUs that can have a near NIC each of their own: all subsets tried.
std::size_t brute_force(const Pairing& pairing, std::size_t gpu, std::vector<std::size_t>& taken) {
  if (gpu == pairing.gpus.size()) {
    return 0;
  }
  std::size_t best = brute_force(pairing, gpu + 1, taken);
  for (const std::size_t nic : pairing.gpus[gpu].nearest) {
    if (std::find(taken.begin(), taken.end(), nic) != taken.end()) {
      continue;
    }
    taken.push_back(nic);
    best = std::max(best, 1 + brute_force(pairing, gpu + 1, taken));
    taken.pop_back();
  }
  return best;
}

TEST(Pairing, UsesAsManyNicsAsAnyAssignmentCould) {
  std::mt19937 random(7);
  static constexpr const char* kWords[] = {"PIX", "PXB", "NODE", "SYS"};
  for (int round = 0; round < 300; ++round) {
    const std::size_t gpus = 1 + random() % 5;
    const std::size_t nics = 1 + random() % 5;
    std::vector<std::vector<const char*>> rows(gpus, std::vector<const char*>(nics));
    for (auto& row : rows) {
      for (auto& cell : row) {
        cell = kWords[random() % 4];
      }
    }
    const Topology topology = make(rows);
    const Pairing pairing = pair_nics(topology);
    std::vector<std::size_t> used;
    for (const GpuNics& gpu : pairing.gpus) {
      ASSERT_TRUE(gpu.assigned);
      EXPECT_NE(std::find(gpu.nearest.begin(), gpu.nearest.end(), *gpu.assigned),
                gpu.nearest.end());
      used.push_back(*gpu.assigned);
    }
    std::sort(used.begin(), used.end());
    used.erase(std::unique(used.begin(), used.end()), used.end());
    std::vector<std::size_t> taken;
    EXPECT_EQ(used.size(), brute_force(pairing, 0, taken));
    EXPECT_EQ(pairing.spare.size(), nics - used.size());
  }
}

}  // namespace
}  // namespace shunt::cluster
