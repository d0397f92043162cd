// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// What an application does without a library of its own: one copy of a token per destination rank,
// counts first, rows packed by destination, MPI_Alltoallv; and the same way back with a local sum.
// Only rows travel, no ids, weights or sources: that favours this side of the comparison.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <mpi.h>

#include "routing/routing.hpp"

namespace shunt::bench {

using Bf16 = std::uint16_t;  ///< The upper half of an fp32.

[[nodiscard]] Bf16 to_bf16(float value);
[[nodiscard]] float to_float(Bf16 value);

/// One rank's buffers and the two operations. All memory is allocated and touched up front.
class Exchange {
 public:
  /// `capacity_rows`: what this rank may receive.
  Exchange(const routing::Routing& routing, int hidden, std::int64_t capacity_rows);
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  ~Exchange();

  /// Routing → counts, count exchange, pack, rows to their ranks. False: capacity exceeded.
  [[nodiscard]] bool dispatch();
  /// What dispatch received goes back; output[t] = Σ over its copies, in fp32, ascending ranks.
  void combine();

  [[nodiscard]] std::vector<Bf16>& input() { return input_; }
  [[nodiscard]] const std::vector<Bf16>& received() const { return received_; }
  [[nodiscard]] const std::vector<Bf16>& output() const { return output_; }
  [[nodiscard]] std::int64_t copies_sent() const {
    return static_cast<std::int64_t>(slots_.size());
  }
  /// Destinations of a token.
  [[nodiscard]] int copies_of(std::int64_t token) const;
  [[nodiscard]] const std::vector<int>& receive_counts() const { return receive_counts_; }

 private:
  void count();
  void pack();

  const routing::Routing& routing_;
  const std::size_t hidden_;
  const std::int64_t capacity_rows_;
  int ranks_ = 1;
  MPI_Datatype row_ = MPI_DATATYPE_NULL;
  std::vector<Bf16> input_;           ///< [tokens][hidden]
  std::vector<Bf16> packed_;          ///< [copies][hidden], by destination, then token
  std::vector<Bf16> received_;        ///< [capacity][hidden], by source, then token
  std::vector<Bf16> output_;          ///< [tokens][hidden]
  std::vector<float> sum_;            ///< [hidden]
  std::vector<std::uint8_t> wanted_;  ///< [tokens][ranks]
  std::vector<std::int64_t> slots_;   ///< Row in packed_ of each (token, rank) wanted, token-major
  std::vector<int> send_counts_;
  std::vector<int> send_offsets_;
  std::vector<int> receive_counts_;
  std::vector<int> receive_offsets_;
};

}  // namespace shunt::bench
