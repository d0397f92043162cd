// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "profile/block_stream.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace shunt::profile {
namespace {

using format::BlockHeader;
using format::FileHeader;

bool is_sound(const BlockHeader& header) {
  return header.magic == format::kBlockMagic && header.header_crc == format::header_crc(header) &&
         header.payload_bytes <= format::kMaxPayloadBytes && header.record_bytes > 0 &&
         static_cast<std::uint64_t>(header.records) * header.record_bytes == header.payload_bytes;
}

}  // namespace

bool BlockStream::ensure(std::size_t bytes) {
  if (available() >= bytes) return true;
  if (begin_ > 0) {
    std::memmove(buffer_.data(), data(), available());
    end_ = available();
    begin_ = 0;
  }
  if (buffer_.size() < std::max<std::size_t>(bytes, 64 * 1024)) {
    buffer_.resize(std::max<std::size_t>(bytes, 64 * 1024));
  }
  while (available() < bytes && !at_end_) {
    const ssize_t n = ::read(file_.get(), buffer_.data() + end_, buffer_.size() - end_);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) read_error_ = errno;
    if (n <= 0) at_end_ = true;
    if (n > 0) end_ += static_cast<std::size_t>(n);
  }
  return available() >= bytes;
}

std::optional<FileHeader> BlockStream::read_header() {
  if (!ensure(sizeof(FileHeader))) {
    empty_file_ = available() == 0;
    cut_ = !empty_file_;
    begin_ = end_;
    return std::nullopt;
  }
  FileHeader header;
  std::memcpy(&header, data(), sizeof(header));
  if (std::memcmp(header.magic, format::kMagic, sizeof(header.magic)) != 0 ||
      header.crc != format::header_crc(header) || header.header_bytes < sizeof(header) ||
      header.header_bytes > format::kMaxPayloadBytes) {
    // Blocks carry their own checksums: what follows is still looked at. The header's own length is
    // skipped so that it does not count as a bad block.
    begin_ += sizeof(header);
    return std::nullopt;
  }
  if (!ensure(header.header_bytes)) cut_ = true;
  begin_ += std::min<std::size_t>(header.header_bytes, available());
  return header;
}

void BlockStream::skip_garbage() {
  in_garbage_ = true;
  constexpr unsigned char kFirst = format::kBlockMagic & 0xffU;
  const void* found = std::memchr(data() + 1, kFirst, available() - 1);
  begin_ = found != nullptr
               ? static_cast<std::size_t>(static_cast<const unsigned char*>(found) - buffer_.data())
               : end_;
}

bool BlockStream::take_sequence(std::uint32_t sequence) {
  if (sequence < next_sequence_) {
    // A repeated block: its records have been seen.
    ++bad_blocks_;
    in_garbage_ = false;
    return false;
  }
  const std::uint64_t missing = sequence - next_sequence_;
  // Garbage where no block is missing was put in from outside: it counts as one.
  bad_blocks_ += in_garbage_ ? std::max<std::uint64_t>(missing, 1) : missing;
  in_garbage_ = false;
  next_sequence_ = sequence + 1;
  return true;
}

std::optional<Block> BlockStream::next() {
  while (ensure(sizeof(BlockHeader))) {
    BlockHeader header;
    std::memcpy(&header, data(), sizeof(header));
    if (!is_sound(header)) {
      skip_garbage();
      continue;
    }
    if (!ensure(sizeof(header) + header.payload_bytes)) {
      bad_blocks_ += in_garbage_ ? 1 : 0;
      in_garbage_ = false;
      cut_ = true;
      begin_ = end_;
      return std::nullopt;
    }
    const unsigned char* payload = data() + sizeof(header);
    const bool fresh = take_sequence(header.sequence);
    const bool whole = header.payload_crc == format::crc(payload, header.payload_bytes);
    begin_ += sizeof(header) + header.payload_bytes;
    if (!fresh) continue;
    if (whole) return Block{header, payload};
    ++bad_blocks_;
  }
  if (in_garbage_) ++bad_blocks_;
  if (!in_garbage_ && available() > 0) cut_ = true;
  in_garbage_ = false;
  begin_ = end_;
  return std::nullopt;
}

}  // namespace shunt::profile
