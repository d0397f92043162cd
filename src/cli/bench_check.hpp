// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// --check: inputs that every rank can compute for every other, and the comparison with what came.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cluster/shape.hpp"
#include "profile/run.hpp"
#include "routing/routing.hpp"
#include "shunt/shunt.hpp"

namespace shunt::cli {

/// Row contents as a function of (seed, rank, token): values in [−1, 1).
class RowSource {
 public:
  RowSource(std::uint64_t seed, std::int64_t hidden, DType dtype)
      : seed_(seed), hidden_(hidden), dtype_(dtype) {}
  [[nodiscard]] std::size_t row_bytes() const {
    return static_cast<std::size_t>(hidden_) * size_of(dtype_);
  }
  void fill(int rank, std::int64_t token, std::byte* row) const;

 private:
  std::uint64_t seed_;
  std::int64_t hidden_;
  DType dtype_;
};

/// One rank's comparison with what the routings of all ranks say it must hold.
class BenchCheck {
 public:
  BenchCheck(const cluster::Shape& shape,
             int rank,
             int experts,
             std::vector<routing::Routing> routings,
             RowSource rows,
             std::int64_t hidden,
             DType dtype,
             DType wire);

  /// Rows that this rank must receive.
  [[nodiscard]] std::int64_t expected_rows(int rank) const;
  /// Bytes equal to their source, in order, nothing missing.
  void dispatch(const std::byte* rows,
                const RowOrigin* origins,
                std::int64_t count,
                profile::Correctness& result) const;
  /// Multiplies received rows by a factor of this rank, rounded to dtype, in place: so that rows of
  /// different ranks differ.
  void run_experts(std::byte* rows, std::int64_t count) const;
  /// |out − Σ| within the bound of docs/numerics.md; the sum in double, over the same rounded rows.
  void combine(const std::byte* output, profile::Correctness& result) const;

 private:
  [[nodiscard]] std::vector<int> ranks_of(int rank, std::int64_t token) const;

  cluster::Shape shape_;
  int rank_;
  int experts_per_rank_;
  std::vector<routing::Routing> routings_;
  RowSource source_;
  std::int64_t hidden_;
  DType dtype_;
  DType wire_;
};

}  // namespace shunt::cli
