// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "trace/packet_stream.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "trace/perfetto_fields.hpp"

namespace shunt::trace {
namespace {

constexpr std::size_t kReadBytes = std::size_t{256} << 10;
/// Field number and wire type of a length-delimited Trace.packet.
constexpr char kPacketKey = static_cast<char>(field::trace::kPacket << 3 | 2);

}  // namespace

std::nullopt_t PacketStream::stop(std::string problem) {
  problem_ = std::move(problem);
  return std::nullopt;
}

/// At least `bytes` are in the buffer from begin_ on; false if the source ends before.
bool PacketStream::fill(std::size_t bytes) {
  while (buffer_.size() - begin_ < bytes) {
    if (begin_ > 0) {
      buffer_.erase(0, begin_);
      begin_ = 0;
    }
    const std::size_t had = buffer_.size();
    // Grows as bytes come, not as a damaged length promises.
    buffer_.resize(had + kReadBytes);
    const std::size_t got = source_.read(buffer_.data() + had, kReadBytes);
    buffer_.resize(had + got);
    if (got == 0) return false;
  }
  return true;
}

std::optional<std::uint64_t> PacketStream::varint(std::size_t& at) {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (!fill(at + 1)) return stop("it ends inside a length");
    const auto byte = static_cast<unsigned char>(buffer_[begin_ + at++]);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return value;
  }
  return stop("a length is damaged");
}

std::optional<std::string_view> PacketStream::next() {
  if (!problem_.empty()) return std::nullopt;
  offset_ = taken_;
  if (!fill(1)) {
    problem_ = source_.failure();
    return std::nullopt;
  }
  if (buffer_[begin_] != kPacketKey) return stop("what follows is no packet");
  std::size_t head = 1;
  const auto size = varint(head);
  if (!size) return std::nullopt;
  if (*size > kMostPacketBytes) return stop(fmt::format("a packet claims {} bytes", *size));
  const auto whole = head + static_cast<std::size_t>(*size);
  if (!fill(whole)) {
    const std::string why = source_.failure();
    return stop(why.empty() ? "it ends inside a packet" : why);
  }
  const std::string_view packet(buffer_.data() + begin_ + head, static_cast<std::size_t>(*size));
  begin_ += whole;
  taken_ += whole;
  return packet;
}

std::optional<std::string_view> first_packet(HeadSource& source) {
  // A packet's key and its length, in full.
  constexpr std::size_t kMostHead = 11;
  const std::string head(source.head(kMostHead).substr(0, kMostHead));
  std::uint64_t size = 0;
  std::size_t at = 1;
  if (head.empty() || head[0] != kPacketKey) return std::nullopt;
  for (int shift = 0;; shift += 7) {
    if (at == head.size() || shift > 56) return std::nullopt;
    const auto byte = static_cast<unsigned char>(head[at++]);
    size |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) break;
  }
  if (size > PacketStream::kMostPacketBytes) return std::nullopt;
  const std::string_view bytes = source.head(at + static_cast<std::size_t>(size));
  if (bytes.size() < at + size) return std::nullopt;
  return bytes.substr(at, static_cast<std::size_t>(size));
}

}  // namespace shunt::trace
