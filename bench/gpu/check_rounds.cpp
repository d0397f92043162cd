// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/check_rounds.hpp"

#include <chrono>
#include <thread>

#include "gpu/check_rank.hpp"

namespace shunt::bench::gpu {

Status run_rounds(Buffer& buffer, const Case& c, const WorldCase& first, const WorldCase& second) {
  Rank one(buffer, c, first);
  Rank two(buffer, c, second);
  SHUNT_TRY(one.prepare());
  SHUNT_TRY(two.prepare());
  Random random(static_cast<std::uint64_t>(buffer.rank()) + 99);
  const auto pause = [&] {
    if (c.delays) std::this_thread::sleep_for(std::chrono::microseconds(random.below(300)));
  };
  for (int round = 0; round < c.rounds; ++round) {
    // Both at first: a copy would wait for the first operation, and so that nothing else of this
    // process could use the device meanwhile, the copies of a BounceFabric included.
    SHUNT_TRY(one.fill_input(round));
    SHUNT_TRY(two.fill_input(round + 1000));
    pause();
    SHUNT_TRY(one.launch_dispatch());
    pause();
    SHUNT_TRY(two.launch_dispatch());
    SHUNT_TRY(one.finish_dispatch(round));
    SHUNT_TRY(two.finish_dispatch(round + 1000));
    pause();
    SHUNT_TRY(two.start_combine());
    pause();
    SHUNT_TRY(one.start_combine());
    SHUNT_TRY(two.finish_combine(round + 1000));
    SHUNT_TRY(one.finish_combine(round));
  }
  return {};
}

}  // namespace shunt::bench::gpu
