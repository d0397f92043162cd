// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Where everything lies in a chunk and in a count message: the arithmetic that the ledger, the plan
// and the kernels share. Plain integers, no containers, usable in device code.
//
// A chunk of n records, on the wire and in a landing slot (each array begins at a multiple of 16):
//
//   fixed header (64 B) | int32 exclusive row prefix per local rank | rows[n] | ids[n][topk] int32
//   | weights[n][topk] fp32 | scales[n] | sources[n] int32
//
// The arrays are sized for n, so a short last chunk is short on the wire.
#pragma once

#include <cstdint>

#include "base/host_device.hpp"

namespace shunt::traffic {

struct RecordLayout {
  static constexpr std::uint64_t kAlignment = 16;
  static constexpr std::uint64_t kFixedHeaderBytes = 64;

  std::uint64_t hidden_bytes = 0;  ///< One row: hidden · sizeof(type), a multiple of 16.
  int topk = 1;
  int chunk_tokens = 64;    ///< Records in a full chunk, at least 1.
  int ranks_per_node = 1;   ///< Of the target: entries of the row prefix.
  int scale_bytes = 0;      ///< Scales of one row; 0 for types without.
  bool has_weights = true;  ///< False: no weights travel.

  [[nodiscard]] SHUNT_HOST_DEVICE static constexpr std::uint64_t align(std::uint64_t bytes) {
    return (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }

  [[nodiscard]] SHUNT_HOST_DEVICE constexpr std::uint64_t ids_bytes() const {
    return static_cast<std::uint64_t>(topk) * sizeof(std::int32_t);
  }
  [[nodiscard]] SHUNT_HOST_DEVICE constexpr std::uint64_t weights_bytes() const {
    return has_weights ? static_cast<std::uint64_t>(topk) * sizeof(float) : 0;
  }
  /// What one token costs without framing: 14404 for bf16, hidden 7168, top-8.
  [[nodiscard]] SHUNT_HOST_DEVICE constexpr std::uint64_t record_bytes() const {
    return hidden_bytes + ids_bytes() + weights_bytes() + static_cast<std::uint64_t>(scale_bytes) +
           sizeof(std::int32_t);
  }

  /// The fixed header and the row prefix, padded.
  [[nodiscard]] SHUNT_HOST_DEVICE constexpr std::uint64_t header_bytes() const {
    return align(kFixedHeaderBytes +
                 static_cast<std::uint64_t>(ranks_per_node) * sizeof(std::int32_t));
  }
  /// Of the row prefix inside the header.
  [[nodiscard]] SHUNT_HOST_DEVICE static constexpr std::uint64_t prefix_offset() {
    return kFixedHeaderBytes;
  }
  [[nodiscard]] SHUNT_HOST_DEVICE constexpr std::uint64_t rows_offset() const {
    return header_bytes();
  }
  [[nodiscard]] SHUNT_HOST_DEVICE constexpr std::uint64_t ids_offset(std::uint64_t records) const {
    return rows_offset() + align(records * hidden_bytes);
  }
  [[nodiscard]] SHUNT_HOST_DEVICE constexpr std::uint64_t weights_offset(
      std::uint64_t records) const {
    return ids_offset(records) + align(records * ids_bytes());
  }
  [[nodiscard]] SHUNT_HOST_DEVICE constexpr std::uint64_t scales_offset(
      std::uint64_t records) const {
    return weights_offset(records) + align(records * weights_bytes());
  }
  [[nodiscard]] SHUNT_HOST_DEVICE constexpr std::uint64_t sources_offset(
      std::uint64_t records) const {
    return scales_offset(records) + align(records * static_cast<std::uint64_t>(scale_bytes));
  }
  /// Bytes of the put that carries `records` records.
  [[nodiscard]] SHUNT_HOST_DEVICE constexpr std::uint64_t chunk_bytes(std::uint64_t records) const {
    return sources_offset(records) + align(records * sizeof(std::int32_t));
  }
  /// Bytes of a landing or staging slot.
  [[nodiscard]] SHUNT_HOST_DEVICE constexpr std::uint64_t max_chunk_bytes() const {
    return chunk_bytes(static_cast<std::uint64_t>(chunk_tokens));
  }
  /// Header and padding of that chunk: what is not records.
  [[nodiscard]] SHUNT_HOST_DEVICE constexpr std::uint64_t framing_bytes(
      std::uint64_t records) const {
    return chunk_bytes(records) - records * record_bytes();
  }

  [[nodiscard]] SHUNT_HOST_DEVICE constexpr std::uint64_t chunks(std::uint64_t records) const {
    const auto per_chunk = static_cast<std::uint64_t>(chunk_tokens);
    return (records + per_chunk - 1) / per_chunk;
  }
  /// One count message: the fixed header and the rows for each local rank.
  [[nodiscard]] SHUNT_HOST_DEVICE constexpr std::uint64_t count_message_bytes() const {
    return kFixedHeaderBytes + static_cast<std::uint64_t>(ranks_per_node) * sizeof(std::int32_t);
  }

  friend constexpr bool operator==(const RecordLayout&, const RecordLayout&) = default;
};

}  // namespace shunt::traffic
