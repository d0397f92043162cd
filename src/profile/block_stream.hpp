// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/fd.hpp"
#include "profile/rank_format.hpp"

namespace shunt::profile {

/// A block whose header and payload checksums are right. The payload is valid until the next call.
struct Block {
  format::BlockHeader header;
  const unsigned char* payload;
};

/// Finds the sound blocks of a record file, skipping and counting what is damaged: after a bad
/// header it looks for the next good one.
class BlockStream {
 public:
  /// `file` is open for reading at its start.
  explicit BlockStream(UniqueFd file) : file_(std::move(file)) {}

  /// The file header, nullopt if it is damaged or absent. Call it first.
  [[nodiscard]] std::optional<format::FileHeader> read_header();
  [[nodiscard]] std::optional<Block> next();

  /// Damaged, skipped or missing blocks so far.
  [[nodiscard]] std::uint64_t bad_blocks() const { return bad_blocks_; }
  /// The file ends inside a block.
  [[nodiscard]] bool cut() const { return cut_; }
  /// errno of a read that failed; the stream then ends as if the file did.
  [[nodiscard]] int read_error() const { return read_error_; }
  [[nodiscard]] bool empty_file() const { return empty_file_; }

 private:
  [[nodiscard]] bool ensure(std::size_t bytes);
  [[nodiscard]] std::size_t available() const { return end_ - begin_; }
  [[nodiscard]] const unsigned char* data() const { return buffer_.data() + begin_; }
  void skip_garbage();
  [[nodiscard]] bool take_sequence(std::uint32_t sequence);

  UniqueFd file_;
  std::vector<unsigned char> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::uint64_t bad_blocks_ = 0;
  std::uint32_t next_sequence_ = 0;
  bool in_garbage_ = false;
  bool cut_ = false;
  bool at_end_ = false;
  bool empty_file_ = false;
  int read_error_ = 0;
};

}  // namespace shunt::profile
