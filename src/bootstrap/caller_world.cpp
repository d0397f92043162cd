// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/caller_world.hpp"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "bootstrap/padded_gather.hpp"

namespace shunt::bootstrap {
namespace {

class CallerWorld final : public World {
 public:
  CallerWorld(int rank, int size, AllGatherFunction gather)
      : World(rank, size), gather_(std::move(gather)) {}

  const char* kind() const override { return "caller"; }

 private:
  Result<Blobs> exchange(Call call, std::span<const std::byte> mine) override {
    if (failure_) return Unexpected(*failure_);
    Result<Blobs> blobs = padded_gather(
        rank(), size(), call, mine, [this](auto part, auto all) { return guarded(part, all); });
    if (!blobs) failure_ = blobs.error();
    return blobs;
  }

  /// The callback may come from another language, whose exceptions end here.
  Status guarded(std::span<const std::byte> mine, std::span<std::byte> all) {
    try {
      return gather_(mine, all);
    } catch (const std::exception& thrown) {
      return fail(ErrorCode::kSystem,
                  ErrorScope::kFatal,
                  "the caller's all-gather threw: {}",
                  thrown.what());
    }
  }

  const AllGatherFunction gather_;
  std::optional<Error> failure_;
};

}  // namespace

Result<std::unique_ptr<World>> caller_world(int rank, int size, AllGatherFunction all_gather) {
  if (size < 1 || rank < 0 || rank >= size) {
    return usage_error(
        "rank {} of a world of {} is not allowed; ranks are 0 … size − 1", rank, size);
  }
  if (!all_gather) return usage_error("an all-gather callback is needed, none was given");
  return std::make_unique<CallerWorld>(rank, size, std::move(all_gather));
}

Result<std::unique_ptr<World>> caller_world(int rank,
                                            int size,
                                            AllGatherCallback all_gather,
                                            void* context) {
  if (all_gather == nullptr) return usage_error("an all-gather callback is needed, none was given");
  return caller_world(
      rank,
      size,
      [all_gather, context](std::span<const std::byte> mine, std::span<std::byte> all) -> Status {
        const int failed = all_gather(context, mine.data(), mine.size(), all.data());
        if (failed == 0) return {};
        return fail(ErrorCode::kSystem,
                    ErrorScope::kFatal,
                    "the caller's all-gather failed with {}",
                    failed);
      });
}

}  // namespace shunt::bootstrap
