// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// A world on MPI. In a target of its own (shunt_bootstrap_mpi): nothing else depends on MPI.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "bootstrap/world.hpp"
#include "shunt/result.hpp"

namespace shunt::bootstrap {

/// The ranks of MPI_COMM_WORLD, on a communicator of its own.
///
/// Deadlines: calls are non-blocking collectives, tested until they complete or the deadline
/// passes. MPI cannot cancel a collective, so an expired call is final: its buffers are kept for
/// MPI, and later calls return the same error.
///
/// A lost rank: MPI launchers end the whole job when a process dies or exits without MPI_Finalize,
/// so the others see SIGTERM rather than kPeerLost. A rank that fails must not just return, because
/// its peers would wait until their deadlines: it prints its error and calls abort().
///
/// All calls on the thread that created it (MPI_THREAD_FUNNELED).
class MpiWorld final : public World {
 public:
  /// Initialises MPI unless the caller has. `deadline_ns` bounds every single call.
  [[nodiscard]] static Result<std::unique_ptr<MpiWorld>> create(std::uint64_t deadline_ns);
  /// Finalises MPI if create() initialised it and no call has failed; after a failure MPI_Finalize
  /// could wait for ever, so the process then ends without it, and the launcher ends the job.
  ~MpiWorld() override;

  const char* kind() const override { return "mpi"; }

  /// Ends all ranks of the job; the launcher reports `exit_status`.
  [[noreturn]] void abort(int exit_status);

 private:
  struct Impl;
  MpiWorld(int rank, int size, std::unique_ptr<Impl> impl);
  Result<Blobs> exchange(Call call, std::span<const std::byte> mine) override;

  std::unique_ptr<Impl> impl_;
};

}  // namespace shunt::bootstrap
