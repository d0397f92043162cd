// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "cluster/topology.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace shunt::cluster {
namespace {

Topology two_gpus_one_nic() {
  Topology topology;
  for (int index = 0; index < 2; ++index) {
    Device gpu;
    gpu.label = fmt::format("GPU{}", index);
    gpu.index = index;
    gpu.cpus = "0-7";
    gpu.numa = "0";
    topology.add(gpu);
  }
  Device nic;
  nic.kind = DeviceKind::kNic;
  nic.label = "NIC0";
  nic.name = "mlx5_0";
  nic.rating_bytes_per_s = 100e9;
  topology.add(nic);
  topology.cell(0, 1) = *parse_path("NV18");
  topology.cell(1, 0) = *parse_path("NV18");
  topology.cell(0, 2) = *parse_path("PIX");
  return topology;
}

TEST(Path, WordsOfEveryVintage) {
  EXPECT_EQ(parse_path("NV18")->links, 18);
  EXPECT_EQ(parse_path("SOC")->kind, PathKind::kSys);
  EXPECT_EQ(parse_path("XGMI")->kind, PathKind::kXgmi);
  EXPECT_EQ(parse_path("NV4")->to_string(), "NV4");
  for (const char* word : {"NV", "NV0", "NV1x", "NVLINK", "pix", "0", "", "GPU0", "N/A"}) {
    EXPECT_FALSE(parse_path(word)) << word;
  }
}

TEST(Topology, PairTakesThePartnersWordWhereItsOwnIsMissing) {
  const Topology topology = two_gpus_one_nic();
  EXPECT_EQ(topology.path(2, 0).kind, PathKind::kPix);
  EXPECT_EQ(topology.path(2, 1).kind, PathKind::kUnknown);
  EXPECT_FALSE(topology.contradicts(0, 2));
}

TEST(Topology, AddingKeepsTheCellsThatAreThere) {
  Topology topology = two_gpus_one_nic();
  topology.add(Device{});
  EXPECT_EQ(topology.cell(0, 1).links, 18);
  EXPECT_EQ(topology.cell(0, 2).kind, PathKind::kPix);
  EXPECT_EQ(topology.cell(3, 3).kind, PathKind::kSelf);
  EXPECT_EQ(topology.cell(0, 3).kind, PathKind::kUnknown);
}

TEST(Topology, ContradictionNeedsBothSides) {
  Topology topology = two_gpus_one_nic();
  topology.cell(1, 0) = *parse_path("NV17");
  EXPECT_TRUE(topology.contradicts(0, 1));
}

TEST(Topology, JsonHasOneEdgeAPair) {
  const std::string json = to_json(two_gpus_one_nic());
  EXPECT_NE(json.find("\"schema\": \"shunt.topology/1\""), std::string::npos);
  EXPECT_NE(json.find("\"path\": \"NV18\""), std::string::npos);
  EXPECT_EQ(json.find("\"path\": \"NV18\""), json.rfind("\"path\": \"NV18\""));
  EXPECT_EQ(json.find("NaN"), std::string::npos);
}

}  // namespace
}  // namespace shunt::cluster
