// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// `shunt bench` under mpirun. In builds with MPI only.
#pragma once

#include "bootstrap/mpi_launch.hpp"
#include "cli/bench_job.hpp"
#include "cli/program.hpp"

namespace shunt::cli {

/// One rank of an mpirun; rank 0 prints. Once the ranks work together a failed one ends the job, as
/// MPI wants it.
[[nodiscard]] Exit run_under_mpi(BenchOptions options, const bootstrap::MpiLaunch& launch);

}  // namespace shunt::cli
