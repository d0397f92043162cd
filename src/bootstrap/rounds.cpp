// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/rounds.hpp"

#include <utility>

#include "base/error.hpp"

namespace shunt::bootstrap {

Rounds::Rounds(int ranks)
    : entered_(static_cast<std::size_t>(ranks), false),
      left_(static_cast<std::size_t>(ranks), false),
      gathering_(static_cast<std::size_t>(ranks)) {}

Status Rounds::enter(int rank, Call call, std::vector<std::byte> blob) {
  for (std::size_t r = 0; r < left_.size() && !failure_; ++r) {
    if (left_[r]) failure_ = rank_left(static_cast<int>(r), call);
  }
  if (!failure_ && count_ > 0 && call != call_) failure_ = calls_differ(rank, call, call_);
  if (failure_) return Unexpected(*failure_);
  call_ = call;
  const auto self = static_cast<std::size_t>(rank);
  gathering_[self] = std::move(blob);
  entered_[self] = true;
  ++count_;
  return {};
}

Blobs Rounds::take() {
  Blobs blobs = std::exchange(gathering_, Blobs(entered_.size()));
  entered_.assign(entered_.size(), false);
  count_ = 0;
  return blobs;
}

void Rounds::leave(int rank, const Status& status) {
  left_[static_cast<std::size_t>(rank)] = true;
  if (!status) {
    fail_with(rank_failed(rank, status.error().to_string()));
  } else if (waiting()) {
    fail_with(rank_left(rank, call_));
  }
}

void Rounds::expire(std::uint64_t deadline_ns) {
  std::vector<int> missing;
  for (std::size_t r = 0; r < entered_.size(); ++r) {
    if (!entered_[r]) missing.push_back(static_cast<int>(r));
  }
  fail_with(call_timed_out(call_, deadline_ns, missing));
}

void Rounds::fail_with(Error error) {
  if (!failure_) failure_ = std::move(error);
}

void FirstFailure::add(int rank, const Error& error, bool died) {
  int distance = 1;
  if (died) {
    distance = 0;
  } else if (error.code == ErrorCode::kTimeout) {
    distance = 2;
  } else if (error.code == ErrorCode::kPeerLost || error.code == ErrorCode::kPoisoned) {
    distance = 3;
  }
  if (rank_ >= 0 && distance >= distance_) return;
  rank_ = rank;
  distance_ = distance;
  error_ = error;
}

Status FirstFailure::status() const {
  if (rank_ < 0) return {};
  Error error = error_;
  error.message = fmt::format("rank {}: {}", rank_, error.message);
  return Unexpected(std::move(error));
}

}  // namespace shunt::bootstrap
