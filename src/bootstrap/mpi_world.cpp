// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/mpi_world.hpp"

#include <sched.h>
#include <time.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <utility>
#include <vector>

#include <mpi.h>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/units.hpp"
#include "bootstrap/padded_gather.hpp"

namespace shunt::bootstrap {
namespace {

Unexpected mpi_error(int code, const char* call) {
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  return fail(ErrorCode::kSystem, ErrorScope::kFatal, "{} failed: {}", call, text);
}

/// Tests spin at first, then yield, then sleep: a waiting rank leaves its core to the others.
class Backoff {
 public:
  void pause() {
    ++tests_;
    if (tests_ < 100) return;
    if (tests_ < 1000) {
      ::sched_yield();
      return;
    }
    const timespec nap{0, 50'000};
    ::nanosleep(&nap, nullptr);
  }

 private:
  int tests_ = 0;
};

}  // namespace

struct MpiWorld::Impl {
  MPI_Comm comm = MPI_COMM_NULL;
  bool initialised = false;  ///< By us, hence finalised by us.
  std::uint64_t deadline_ns = 0;
  std::optional<Error> failure;
  std::vector<std::byte> sending;
  std::vector<std::byte> receiving;

  /// Equal parts, within the deadline. The buffers belong to MPI until the call completes.
  Status gather(Call call, std::span<const std::byte> mine, std::span<std::byte> all) {
    if (mine.size() > INT_MAX) {
      return fail(ErrorCode::kUnsupported,
                  ErrorScope::kUsage,
                  "an all-gather of {} per rank exceeds MPI's 2 GiB",
                  format_size(mine.size()));
    }
    sending.assign(mine.begin(), mine.end());
    receiving.assign(all.size(), std::byte{0});
    const int count = static_cast<int>(mine.size());
    MPI_Request request = MPI_REQUEST_NULL;
    const int started = MPI_Iallgather(
        sending.data(), count, MPI_BYTE, receiving.data(), count, MPI_BYTE, comm, &request);
    if (started != MPI_SUCCESS) return mpi_error(started, "MPI_Iallgather");
    SHUNT_TRY(wait(call, request));
    std::copy(receiving.begin(), receiving.end(), all.begin());
    return {};
  }

  Status wait(Call call, MPI_Request& request) {
    const Deadline deadline = Deadline::after_ns(deadline_ns);
    Backoff backoff;
    while (true) {
      int done = 0;
      const int tested = MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      if (tested != MPI_SUCCESS) return mpi_error(tested, "MPI_Test");
      if (done != 0) return {};
      if (deadline.expired()) {
        return fail(ErrorCode::kTimeout,
                    ErrorScope::kFatal,
                    "{} not entered by all ranks within {} (MPI does not tell which is missing)",
                    to_string(call),
                    format_ns(deadline_ns));
      }
      backoff.pause();
    }
  }
};

Result<std::unique_ptr<MpiWorld>> MpiWorld::create(std::uint64_t deadline_ns) {
  auto impl = std::make_unique<Impl>();
  impl->deadline_ns = std::min(deadline_ns, std::uint64_t{1} << 62);
  int ready = 0;
  MPI_Initialized(&ready);
  if (ready == 0) {
    int provided = MPI_THREAD_SINGLE;
    const int started = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
    if (started != MPI_SUCCESS) return mpi_error(started, "MPI_Init_thread");
    impl->initialised = true;
    if (provided < MPI_THREAD_FUNNELED) {
      return fail(ErrorCode::kUnsupported,
                  ErrorScope::kFatal,
                  "this MPI allows no threads beside its own (MPI_THREAD_FUNNELED is needed)");
    }
  }
  const int duplicated = MPI_Comm_dup(MPI_COMM_WORLD, &impl->comm);
  if (duplicated != MPI_SUCCESS) return mpi_error(duplicated, "MPI_Comm_dup");
  MPI_Comm_set_errhandler(impl->comm, MPI_ERRORS_RETURN);
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(impl->comm, &rank);
  MPI_Comm_size(impl->comm, &size);
  return std::unique_ptr<MpiWorld>(new MpiWorld(rank, size, std::move(impl)));
}

MpiWorld::MpiWorld(int rank, int size, std::unique_ptr<Impl> impl)
    : World(rank, size), impl_(std::move(impl)) {}

MpiWorld::~MpiWorld() {
  if (impl_->failure) {
    (void)impl_.release();  // MPI may still write into the buffers of the call that failed.
    return;
  }
  MPI_Comm_free(&impl_->comm);
  if (impl_->initialised) MPI_Finalize();
}

void MpiWorld::abort(int exit_status) {
  MPI_Abort(MPI_COMM_WORLD, exit_status);
  std::abort();  // MPI_Abort does not return.
}

Result<Blobs> MpiWorld::exchange(Call call, std::span<const std::byte> mine) {
  if (impl_->failure) return Unexpected(*impl_->failure);
  Result<Blobs> blobs =
      padded_gather(rank(), size(), call, mine, [this, call](auto part, auto all) {
        return impl_->gather(call, part, all);
      });
  if (!blobs) impl_->failure = blobs.error();
  return blobs;
}

}  // namespace shunt::bootstrap
