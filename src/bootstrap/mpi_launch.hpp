// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Whether this process was started by an MPI launcher. Needs no MPI.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace shunt::bootstrap {

/// What a launcher says in the environment of a process that it started.
struct MpiLaunch {
  std::string launcher;  ///< "Open MPI", "PMI", "Slurm": for messages.
  int rank = 0;
  int size = 1;
  std::optional<int> local_size;  ///< Ranks on this machine, where it says so.
};

/// Nothing where no launcher's variables are found: a program then starts its own ranks. A single
/// rank under a launcher is found too. `get` stands for ::getenv in tests.
[[nodiscard]] std::optional<MpiLaunch> detect_mpi_launch(
    const std::function<const char*(const char*)>& get = {});

}  // namespace shunt::bootstrap
