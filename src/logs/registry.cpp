// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "logs/readers.hpp"

namespace shunt::logs {

std::span<const Reader> readers() {
  static constexpr std::array kReaders{
      Reader{"topology", read_topology},
      Reader{"deepep", read_deepep},
  };
  return kReaders;
}

}  // namespace shunt::logs
