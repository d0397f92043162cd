// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "exchange.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace shunt::bench {

Bf16 to_bf16(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  bits += 0x7fffU + ((bits >> 16) & 1U);  // Round to nearest even.
  return static_cast<Bf16>(bits >> 16);
}

float to_float(Bf16 value) {
  const std::uint32_t bits = static_cast<std::uint32_t>(value) << 16;
  float result = 0;
  std::memcpy(&result, &bits, sizeof(result));
  return result;
}

Exchange::Exchange(const routing::Routing& routing, int hidden, std::int64_t capacity_rows)
    : routing_(routing), hidden_(static_cast<std::size_t>(hidden)), capacity_rows_(capacity_rows) {
  MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
  MPI_Type_contiguous(hidden * 2, MPI_BYTE, &row_);
  MPI_Type_commit(&row_);
  const auto tokens = static_cast<std::size_t>(routing.tokens);
  const auto ranks = static_cast<std::size_t>(ranks_);
  const std::size_t most = tokens * std::min(ranks, static_cast<std::size_t>(routing.topk));
  input_.assign(tokens * hidden_, 0);
  packed_.assign(most * hidden_, 0);
  received_.assign(static_cast<std::size_t>(capacity_rows) * hidden_, 0);
  output_.assign(tokens * hidden_, 0);
  sum_.assign(hidden_, 0);
  wanted_.assign(tokens * ranks, 0);
  slots_.reserve(most);
  send_counts_.assign(ranks, 0);
  send_offsets_.assign(ranks, 0);
  receive_counts_.assign(ranks, 0);
  receive_offsets_.assign(ranks, 0);
}

Exchange::~Exchange() {
  MPI_Type_free(&row_);
}

void Exchange::count() {
  const int per_rank = routing_.experts / ranks_;
  const auto topk = static_cast<std::size_t>(routing_.topk);
  const auto ranks = static_cast<std::size_t>(ranks_);
  std::fill(wanted_.begin(), wanted_.end(), std::uint8_t{0});
  std::fill(send_counts_.begin(), send_counts_.end(), 0);
  for (std::size_t t = 0; t < static_cast<std::size_t>(routing_.tokens); ++t) {
    for (std::size_t k = 0; k < topk; ++k) {
      const std::int32_t expert = routing_.ids[t * topk + k];
      if (expert >= 0) wanted_[t * ranks + static_cast<std::size_t>(expert / per_rank)] = 1;
    }
    for (std::size_t r = 0; r < ranks; ++r) send_counts_[r] += wanted_[t * ranks + r];
  }
}

void Exchange::pack() {
  const auto ranks = static_cast<std::size_t>(ranks_);
  std::vector<std::int64_t> next(send_offsets_.begin(), send_offsets_.end());
  slots_.clear();
  for (std::size_t t = 0; t < static_cast<std::size_t>(routing_.tokens); ++t) {
    const Bf16* row = input_.data() + t * hidden_;
    for (std::size_t r = 0; r < ranks; ++r) {
      if (wanted_[t * ranks + r] == 0) continue;
      const std::int64_t slot = next[r]++;
      slots_.push_back(slot);
      std::memcpy(packed_.data() + static_cast<std::size_t>(slot) * hidden_, row, hidden_ * 2);
    }
  }
}

bool Exchange::dispatch() {
  count();
  MPI_Alltoall(send_counts_.data(), 1, MPI_INT, receive_counts_.data(), 1, MPI_INT, MPI_COMM_WORLD);
  std::exclusive_scan(send_counts_.begin(), send_counts_.end(), send_offsets_.begin(), 0);
  std::exclusive_scan(receive_counts_.begin(), receive_counts_.end(), receive_offsets_.begin(), 0);
  if (receive_offsets_.back() + receive_counts_.back() > capacity_rows_) return false;
  pack();
  MPI_Alltoallv(packed_.data(),
                send_counts_.data(),
                send_offsets_.data(),
                row_,
                received_.data(),
                receive_counts_.data(),
                receive_offsets_.data(),
                row_,
                MPI_COMM_WORLD);
  return true;
}

void Exchange::combine() {
  MPI_Alltoallv(received_.data(),
                receive_counts_.data(),
                receive_offsets_.data(),
                row_,
                packed_.data(),
                send_counts_.data(),
                send_offsets_.data(),
                row_,
                MPI_COMM_WORLD);
  const std::int64_t* slot = slots_.data();
  for (std::int64_t t = 0; t < routing_.tokens; ++t) {
    std::fill(sum_.begin(), sum_.end(), 0.0F);
    for (int copy = copies_of(t); copy > 0; --copy, ++slot) {
      const Bf16* row = packed_.data() + static_cast<std::size_t>(*slot) * hidden_;
      for (std::size_t h = 0; h < hidden_; ++h) sum_[h] += to_float(row[h]);
    }
    Bf16* out = output_.data() + static_cast<std::size_t>(t) * hidden_;
    for (std::size_t h = 0; h < hidden_; ++h) out[h] = to_bf16(sum_[h]);
  }
}

int Exchange::copies_of(std::int64_t token) const {
  const auto ranks = static_cast<std::size_t>(ranks_);
  const std::uint8_t* wanted = wanted_.data() + static_cast<std::size_t>(token) * ranks;
  return std::accumulate(wanted, wanted + ranks, 0);
}

}  // namespace shunt::bench
