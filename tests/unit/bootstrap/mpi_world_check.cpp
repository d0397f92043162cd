// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Run by an MPI launcher with 4 ranks: `collectives` exits with 0 if all is well on every rank;
// `deadline` and `abort` say on stdout what they saw and end the job.
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include <mpi.h>

#include "base/error.hpp"
#include "bootstrap/collective.hpp"
#include "bootstrap/mpi_launch.hpp"
#include "bootstrap/mpi_world.hpp"
#include "cluster/shape.hpp"
#include "memory/heap.hpp"

namespace shunt::bootstrap {
namespace {

Status check_collectives(World& world) {
  const auto launch = detect_mpi_launch();
  if (!launch || launch->size != world.size() || launch->rank != world.rank()) {
    return usage_error("the launcher was not recognised");
  }
  if (std::string(world.kind()) != "mpi" || world.size() != 4) return usage_error("wrong world");
  for (int round = 0; round < 50; ++round) {
    const auto blob_of = [round](int rank) {
      return std::vector<std::byte>(static_cast<std::size_t>((rank * 1009 + round * 37) % 5000),
                                    static_cast<std::byte>(rank + round));
    };
    const Result<Blobs> all = world.all_gather(blob_of(world.rank()));
    if (!all) return Unexpected(all.error());
    for (int rank = 0; rank < world.size(); ++rank) {
      if ((*all)[static_cast<std::size_t>(rank)] != blob_of(rank)) {
        return usage_error("round {}: wrong blob of rank {}", round, rank);
      }
    }
    SHUNT_TRY(world.barrier());
  }
  return {};
}

Status check_heap(World& world) {
  const auto shape = cluster::Shape::create(4, 2).value();
  const auto heap = memory::Heap::create(world, shape, 1 << 20);
  if (!heap) return Unexpected(heap.error());
  const int peer = 1 - shape.local_of(world.rank());
  (*heap)->window(peer).base[9] = static_cast<std::byte>(world.rank() + 1);
  SHUNT_TRY(world.barrier());
  const int expected = shape.rank_of(shape.node_of(world.rank()), peer) + 1;
  if ((*heap)->base()[9] != static_cast<std::byte>(expected)) return usage_error("wrong mark");
  return world.barrier();
}

int run_collectives() {
  const auto world = MpiWorld::create(60'000'000'000);
  if (!world) return 2;
  Status status = check_collectives(**world);
  if (status) status = check_heap(**world);
  if (status) return 0;
  std::printf("rank %d: %s\n", (*world)->rank(), status.error().message.c_str());
  std::fflush(stdout);
  (*world)->abort(1);
}

/// Rank 0 enters no barrier before rank 1 has given up; then the job is aborted.
int run_deadline() {
  const auto world = MpiWorld::create(20'000'000);
  if (!world) return 2;
  int token = 0;
  if ((*world)->rank() == 0) {
    MPI_Recv(&token, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    (*world)->abort(9);
  }
  const Status status = (*world)->barrier();
  const Status again = (*world)->barrier();
  if ((*world)->rank() == 1) {
    const bool same = !status && !again && status.error().message == again.error().message;
    std::printf(
        "%s: %s\n", same ? "lasting" : "changing", status ? "ok" : status.error().message.c_str());
    std::fflush(stdout);
    MPI_Send(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
  }
  MPI_Recv(&token, 1, MPI_INT, 3, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);  // Ended by the abort.
  return 0;
}

}  // namespace
}  // namespace shunt::bootstrap

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "collectives") return shunt::bootstrap::run_collectives();
  if (mode == "deadline") return shunt::bootstrap::run_deadline();
  std::fprintf(stderr, "usage: mpirun -n 4 %s collectives|deadline\n", argv[0]);
  return 64;
}
