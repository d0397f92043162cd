// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/launch.hpp"

#include <cstdlib>
#include <string>

#include "base/error.hpp"
#include "bootstrap/launch.hpp"
#include "memory/cuda/device.hpp"

namespace shunt::bench::gpu {

using nlohmann::json;

Result<std::vector<json>> launch_ranks(
    int ranks, int gpus, const std::function<Result<json>(bootstrap::World&)>& rank_main) {
  bootstrap::LaunchOptions options;
  options.ranks = ranks;
  options.deadline_ns = 120'000'000'000;
  auto outcome = bootstrap::launch_local(
      options, [&](bootstrap::World& world) -> Result<std::vector<std::byte>> {
        // A kernel that is loaded at its first launch waits for those that run, and a gate waits
        // for one that has not been launched yet.
        ::setenv("CUDA_MODULE_LOADING", "EAGER", 1);
        SHUNT_TRY(memory::cuda::check(cudaSetDevice(world.rank() % gpus), "opening the device"));
        auto result = rank_main(world);
        if (!result) return Unexpected(std::move(result).error());
        const std::string text = result->dump();
        const auto* data = reinterpret_cast<const std::byte*>(text.data());
        return std::vector<std::byte>(data, data + text.size());
      });
  if (!outcome) return Unexpected(std::move(outcome).error());
  if (!outcome->status) return Unexpected(outcome->status.error());
  std::vector<json> all;
  for (const bootstrap::RankOutcome& rank : outcome->ranks) {
    const auto* text = reinterpret_cast<const char*>(rank.result.data());
    all.push_back(json::parse(text, text + rank.result.size()));
  }
  return all;
}

}  // namespace shunt::bench::gpu
