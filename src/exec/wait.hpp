// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "base/host_device.hpp"
#include "cluster/shape.hpp"
#include "record/record.hpp"
#include "shunt/error.hpp"

namespace shunt::exec {

/// What a wait waits for: enough to say so when it fails.
struct WaitSite {
  record::Phase phase = record::Phase::kNone;
  record::WaitReason reason = record::WaitReason::kNone;
  int peer = -1;         ///< The rank that must act, −1 if several.
  int chunk = -1;        ///< −1 if none.
  bool recorded = true;  ///< False: another lane waits for the same, and its span tells of both.
};

/// A wait that ended badly.
struct WaitFailure {
  WaitSite site;
  std::uint64_t op = 0;
  std::uint64_t expected = 0;
  std::uint64_t seen = 0;
  std::uint64_t waited_ns = 0;
};

/// An abort word of a rank that has waited for `peer` in vain, and who that was: −1 if it does not
/// say. 24 bits of an abort word; a rank too large for them is left out.
[[nodiscard]] SHUNT_HOST_DEVICE constexpr std::uint64_t abort_for(std::uint64_t word, int peer) {
  constexpr int kMost = (1 << 24) - 2;
  if (peer < 0 || peer > kMost) return word;
  return word | static_cast<std::uint64_t>(peer + 1) << 40;
}
[[nodiscard]] SHUNT_HOST_DEVICE constexpr int abort_waited(std::uint64_t word) {
  return static_cast<int>(word >> 40) - 1;
}

/// "operation 12: rank 3 waited 30 s in dispatch_inter_node_recv for chunk 4 of rank 1 (node 0): …"
[[nodiscard]] Error describe(const WaitFailure& failure, const cluster::Shape& shape, int rank);

enum class OperationKind : std::uint8_t { kDispatch, kReplay, kCombine };

/// What ranks compare: `history`, a hash of all that they have issued, with the kind of the latest
/// operation in it, so that an error can name it. 48 bits, the value of a word of a posting.
[[nodiscard]] constexpr std::uint64_t operation_hash(std::uint64_t history, OperationKind kind) {
  return (history >> 16 & ~std::uint64_t{3}) | static_cast<std::uint64_t>(kind);
}

/// Two ranks are not at the same operation, or have not issued the same ones before it. Hashes are
/// operation_hash().
[[nodiscard]] Error describe_mismatch(int source,
                                      std::uint64_t op,
                                      std::uint64_t hash,
                                      int rank,
                                      std::uint64_t own_op,
                                      std::uint64_t own_hash);
[[nodiscard]] Error describe_too_many_rows(std::uint64_t op, int rank, std::int64_t rows);

}  // namespace shunt::exec
