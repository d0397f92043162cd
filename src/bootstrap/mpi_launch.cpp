// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/mpi_launch.hpp"

#include <charconv>
#include <cstdlib>
#include <cstring>

namespace shunt::bootstrap {
namespace {

using Environment = std::function<const char*(const char*)>;

std::optional<int> number(const Environment& get, const char* name) {
  const char* text = name == nullptr ? nullptr : get(name);
  if (text == nullptr) return std::nullopt;
  int value = 0;
  const char* end = text + std::strlen(text);
  const auto parsed = std::from_chars(text, end, value);
  if (parsed.ec != std::errc{} || parsed.ptr != end || value < 0) return std::nullopt;
  return value;
}

/// A batch script itself has Slurm's job variables too; only `required` tells a step started by
/// srun.
struct Launcher {
  const char* name;
  const char* required;
  const char* rank;
  const char* size;
  const char* local_size;
};

constexpr Launcher kLaunchers[] = {
    {"Open MPI",
     nullptr,
     "OMPI_COMM_WORLD_RANK",
     "OMPI_COMM_WORLD_SIZE",
     "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"MVAPICH", nullptr, "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_SIZE"},
    {"PMI", nullptr, "PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS"},
    {"Slurm", "SLURM_STEP_ID", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", nullptr},
};

}  // namespace

std::optional<MpiLaunch> detect_mpi_launch(const Environment& get) {
  const Environment environment =
      get ? get : [](const char* name) -> const char* { return std::getenv(name); };
  for (const Launcher& launcher : kLaunchers) {
    if (launcher.required != nullptr && environment(launcher.required) == nullptr) continue;
    const std::optional<int> rank = number(environment, launcher.rank);
    const std::optional<int> size = number(environment, launcher.size);
    if (!rank || !size || *size < 1 || *rank >= *size) continue;
    return MpiLaunch{launcher.name, *rank, *size, number(environment, launcher.local_size)};
  }
  return std::nullopt;
}

}  // namespace shunt::bootstrap
