// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes of a rank's record file: docs/formats/run-directory.md. On disk, never renumber or reorder.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <zlib.h>

#include "record/record.hpp"

namespace shunt::profile::format {

// All fields are little-endian, and records are stored as they lie in memory.
static_assert(std::endian::native == std::endian::little,
              "the record file is written without byte swapping");

inline constexpr char kMagic[8] = {'S', 'H', 'U', 'N', 'T', 'R', 'E', 'C'};
inline constexpr std::uint32_t kVersion = 1;
inline constexpr std::uint32_t kBlockMagic = 0x4b4c4253;  // "SBLK"
/// No block is longer, so that a reader's memory is bounded whatever a length field says.
inline constexpr std::uint32_t kMaxPayloadBytes = 1U << 20;

enum class BlockType : std::uint8_t { kSpans = 1, kPuts = 2, kArrivals = 3, kEnd = 255 };

struct FileHeader {
  char magic[8];
  std::uint32_t version;
  std::uint32_t header_bytes;  ///< The first block starts here; later versions may add fields.
  std::int32_t rank;
  std::int32_t world;
  std::uint64_t begin_ns;  ///< now_ns() when the file was created.
  std::uint64_t wall_ns;   ///< Since 1970, at the same moment.
  std::uint64_t run_id;    ///< As in run.json; 0 if none was given.
  std::uint64_t reserved;
  std::uint32_t reserved2;
  std::uint32_t crc;  ///< Of the bytes before it.
};
static_assert(sizeof(FileHeader) == 64 && std::is_trivially_copyable_v<FileHeader>);

struct BlockHeader {
  std::uint32_t magic;
  BlockType type;
  std::uint8_t flags;          ///< 0.
  std::uint16_t record_bytes;  ///< A reader takes the first bytes that it knows of each record.
  std::uint32_t records;
  std::uint32_t payload_bytes;
  std::uint32_t sequence;  ///< 0, 1, 2 … within the file: a gap is a lost block.
  std::uint32_t payload_crc;
  std::uint32_t reserved;
  std::uint32_t header_crc;  ///< Of the bytes before it.
};
static_assert(sizeof(BlockHeader) == 32 && std::is_trivially_copyable_v<BlockHeader>);

/// Payload of the end block (one record).
struct EndRecord {
  std::uint64_t spans;
  std::uint64_t puts;
  std::uint64_t arrivals;
  std::uint64_t dropped;  ///< Records that found their ring full, or could not be written.
  std::uint64_t end_ns;   ///< now_ns() when the file was finished.
};
static_assert(sizeof(EndRecord) == 40 && std::is_trivially_copyable_v<EndRecord>);

/// Bytes of a record that are fields; the padding behind them is zero in the file.
template <typename Record>
inline constexpr std::size_t kFieldBytes = sizeof(Record);
template <>
inline constexpr std::size_t kFieldBytes<record::Span> = offsetof(record::Span, reason) +
                                                         sizeof(record::WaitReason);
template <>
inline constexpr std::size_t kFieldBytes<record::Put> = offsetof(record::Put, phase) +
                                                        sizeof(record::Phase);
template <>
inline constexpr std::size_t kFieldBytes<record::Arrival> = offsetof(record::Arrival, phase) +
                                                            sizeof(record::Phase);
static_assert(kFieldBytes<record::Span> == 44 && kFieldBytes<record::Put> == 50 &&
              kFieldBytes<record::Arrival> == 50);

[[nodiscard]] inline std::uint32_t crc(const void* data, std::size_t bytes) {
  return static_cast<std::uint32_t>(
      ::crc32_z(0, static_cast<const unsigned char*>(data), static_cast<z_size_t>(bytes)));
}

[[nodiscard]] inline std::uint32_t header_crc(const FileHeader& header) {
  return crc(&header, offsetof(FileHeader, crc));
}
[[nodiscard]] inline std::uint32_t header_crc(const BlockHeader& header) {
  return crc(&header, offsetof(BlockHeader, header_crc));
}

}  // namespace shunt::profile::format
