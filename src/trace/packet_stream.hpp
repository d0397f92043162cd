// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// The packets of a Perfetto trace, one at a time. in: bytes → out: the bytes of each TracePacket.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "trace/chrome/byte_source.hpp"

namespace shunt::trace {

class PacketStream {
 public:
  /// The largest packet shunt writes is the description of the run, a few KiB a rank.
  static constexpr std::uint64_t kMostPacketBytes = std::uint64_t{64} << 20;

  explicit PacketStream(ByteSource& source) : source_(source) {}

  /// Valid until the next call; nullopt at the end or at damage (see problem()).
  [[nodiscard]] std::optional<std::string_view> next();

  /// Of the first byte of the packet that next() returned last, or could not read.
  [[nodiscard]] std::uint64_t offset() const { return offset_; }
  /// Why next() stopped; empty at a clean end.
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  [[nodiscard]] bool fill(std::size_t bytes);
  [[nodiscard]] std::optional<std::uint64_t> varint(std::size_t& at);
  std::nullopt_t stop(std::string problem);

  ByteSource& source_;
  std::string buffer_;
  std::size_t begin_ = 0;  ///< Of what is left in the buffer.
  std::uint64_t offset_ = 0;
  std::uint64_t taken_ = 0;  ///< Bytes before begin_.
  std::string problem_;
};

/// The first packet of a trace, which stays to be read; nullopt if there is none. Valid until the
/// next use of the source.
[[nodiscard]] std::optional<std::string_view> first_packet(HeadSource& source);

}  // namespace shunt::trace
