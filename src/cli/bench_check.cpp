// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/bench_check.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/random.hpp"
#include "exec/cpu/convert.hpp"

namespace shunt::cli {
namespace {

float load(const std::byte* row, std::int64_t element, DType type) {
  if (type == DType::kF32) {
    float value = 0;
    std::memcpy(&value, row + element * 4, 4);
    return value;
  }
  std::uint16_t bits = 0;
  std::memcpy(&bits, row + element * 2, 2);
  return type == DType::kBF16 ? exec::bf16_to_f32(bits) : exec::f16_to_f32(bits);
}

void store(std::byte* row, std::int64_t element, DType type, float value) {
  if (type == DType::kF32) {
    std::memcpy(row + element * 4, &value, 4);
    return;
  }
  const std::uint16_t bits =
      type == DType::kBF16 ? exec::f32_to_bf16(value) : exec::f32_to_f16(value);
  std::memcpy(row + element * 2, &bits, 2);
}

float expert_factor(int rank) {
  return 1.0F + static_cast<float>(rank % 29) / 64.0F;
}

/// Largest relative error of one rounding to nearest.
double unit_roundoff(DType type) {
  switch (type) {
    case DType::kF32:
      return 0x1.0p-24;
    case DType::kBF16:
      return 0x1.0p-8;
    case DType::kF16:
      return 0x1.0p-11;
  }
  return 0;
}

}  // namespace

void RowSource::fill(int rank, std::int64_t token, std::byte* row) const {
  Random random(Random::mix(seed_ ^ Random::mix(static_cast<std::uint64_t>(rank) << 40U ^
                                                static_cast<std::uint64_t>(token))));
  for (std::int64_t e = 0; e < hidden_; e += 4) {
    std::uint64_t bits = random.next();
    for (std::int64_t i = e; i < std::min(e + 4, hidden_); ++i, bits >>= 16) {
      const auto value = static_cast<std::int16_t>(bits & 0xffffU);
      store(row, i, dtype_, static_cast<float>(value) * 0x1.0p-15F);
    }
  }
}

BenchCheck::BenchCheck(const cluster::Shape& shape,
                       int rank,
                       int experts,
                       std::vector<routing::Routing> routings,
                       RowSource rows,
                       std::int64_t hidden,
                       DType dtype,
                       DType wire)
    : shape_(shape),
      rank_(rank),
      experts_per_rank_(experts / shape.world),
      routings_(std::move(routings)),
      source_(rows),
      hidden_(hidden),
      dtype_(dtype),
      wire_(wire) {}

std::vector<int> BenchCheck::ranks_of(int rank, std::int64_t token) const {
  const routing::Routing& routing = routings_[static_cast<std::size_t>(rank)];
  std::vector<int> ranks;
  for (int k = 0; k < routing.topk; ++k) {
    const std::int32_t id = routing.ids[static_cast<std::size_t>(token * routing.topk + k)];
    if (id >= 0) ranks.push_back(id / experts_per_rank_);
  }
  std::ranges::sort(ranks);
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

std::int64_t BenchCheck::expected_rows(int rank) const {
  std::int64_t rows = 0;
  for (int source = 0; source < shape_.world; ++source) {
    for (std::int64_t t = 0; t < routings_[static_cast<std::size_t>(source)].tokens; ++t) {
      rows += std::ranges::count(ranks_of(source, t), rank);
    }
  }
  return rows;
}

void BenchCheck::dispatch(const std::byte* rows,
                          const RowOrigin* origins,
                          std::int64_t count,
                          profile::Correctness& result) const {
  result.checked = true;
  std::vector<std::byte> right(source_.row_bytes());
  std::int64_t row = 0;
  for (int source = 0; source < shape_.world; ++source) {
    for (std::int64_t t = 0; t < routings_[static_cast<std::size_t>(source)].tokens; ++t) {
      if (std::ranges::count(ranks_of(source, t), rank_) == 0) continue;
      ++result.dispatch_rows;
      source_.fill(source, t, right.data());
      const bool same =
          row < count && origins[row].rank == source && origins[row].token == t &&
          std::memcmp(
              rows + static_cast<std::size_t>(row) * right.size(), right.data(), right.size()) == 0;
      if (!same) ++result.dispatch_mismatches;
      ++row;
    }
  }
  if (count > row) result.dispatch_mismatches += static_cast<std::uint64_t>(count - row);
}

void BenchCheck::run_experts(std::byte* rows, std::int64_t count) const {
  const float factor = expert_factor(rank_);
  for (std::int64_t r = 0; r < count; ++r) {
    std::byte* row = rows + static_cast<std::size_t>(r) * source_.row_bytes();
    for (std::int64_t e = 0; e < hidden_; ++e) store(row, e, dtype_, load(row, e, dtype_) * factor);
  }
}

void BenchCheck::combine(const std::byte* output, profile::Correctness& result) const {
  std::vector<std::byte> input(source_.row_bytes());
  std::vector<std::byte> rounded(source_.row_bytes());
  for (std::int64_t t = 0; t < routings_[static_cast<std::size_t>(rank_)].tokens; ++t) {
    source_.fill(rank_, t, input.data());
    const std::vector<int> ranks = ranks_of(rank_, t);
    std::vector<double> sum(static_cast<std::size_t>(hidden_), 0.0);
    std::vector<double> magnitude(sum.size(), 0.0);
    for (const int at : ranks) {
      for (std::int64_t e = 0; e < hidden_; ++e) {
        store(rounded.data(), e, dtype_, load(input.data(), e, dtype_) * expert_factor(at));
        const double value = load(rounded.data(), e, dtype_);
        sum[static_cast<std::size_t>(e)] += value;
        magnitude[static_cast<std::size_t>(e)] += std::fabs(value);
      }
    }
    // One rounding to the wire type, one to the output type, one fp32 rounding per addition; the
    // factor covers their products.
    const double bound = 1.01 * (unit_roundoff(wire_) + unit_roundoff(dtype_) +
                                 static_cast<double>(ranks.size()) * 0x1.0p-24);
    for (std::int64_t e = 0; e < hidden_; ++e) {
      const auto i = static_cast<std::size_t>(e);
      const double error =
          std::fabs(load(output + static_cast<std::size_t>(t) * input.size(), e, dtype_) - sum[i]);
      const double relative =
          magnitude[i] == 0 ? (error == 0 ? 0.0 : 2.0) : error / (magnitude[i] * bound);
      result.combine_max_error = std::max(result.combine_max_error, relative);
      if (!(relative <= 1.0)) ++result.combine_mismatches;
    }
  }
}

}  // namespace shunt::cli
