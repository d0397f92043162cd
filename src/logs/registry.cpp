// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "logs/readers.hpp"

namespace shunt::logs {

std::span<const Reader> readers() {
  static constexpr std::array kReaders{
      Reader{"json", read_result_json},      Reader{"trace", read_trace},
      Reader{"topology", read_topology},     Reader{"rate_matrix", read_rate_matrix},
      Reader{"port_tools", read_port_tools}, Reader{"links", read_links},
      Reader{"counters", read_counters},     Reader{"deepep", read_deepep},
      Reader{"deepep_v2", read_deepep_v2},   Reader{"low_latency", read_low_latency},
      Reader{"hybridep", read_hybridep},     Reader{"mori", read_mori},
      Reader{"ep_bench", read_ep_bench},     Reader{"pplx", read_pplx},
      Reader{"nvshmem", read_nvshmem},       Reader{"nccl", read_nccl},
      Reader{"nccl_info", read_nccl_info},   Reader{"perftest", read_perftest},
      Reader{"failures", read_failures},     Reader{"rank_times", read_rank_times},
      Reader{"tables", read_tables},         Reader{"config", read_config},
      Reader{"prose", read_prose},
  };
  return kReaders;
}

}  // namespace shunt::logs
