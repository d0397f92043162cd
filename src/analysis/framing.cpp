// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "analysis/framing.hpp"

#include <fmt/format.h>

namespace shunt::analysis {

bool is_tcp_provider(std::string_view provider) {
  const std::string_view core = provider.substr(0, provider.find(';'));
  return core == "tcp" || core == "net" || core == "sockets";
}

std::uint64_t tcp_frame_bytes(std::uint64_t stream_bytes, int mtu) {
  const std::uint64_t segment = static_cast<std::uint64_t>(mtu) - kTcpHeaderBytes;
  const std::uint64_t segments = (stream_bytes + segment - 1) / segment;
  return stream_bytes + segments * kTcpFrameOverheadBytes;
}

std::optional<std::uint64_t> frame_bytes(std::string_view provider,
                                         std::uint64_t stream_bytes,
                                         int mtu) {
  if (!is_tcp_provider(provider)) return std::nullopt;
  return tcp_frame_bytes(stream_bytes, mtu);
}

std::optional<std::uint64_t> counter_bytes(std::string_view provider,
                                           std::uint64_t record_bytes,
                                           std::uint64_t messages,
                                           std::uint64_t frames,
                                           int mtu) {
  if (!is_tcp_provider(provider)) return std::nullopt;
  const bool native = provider == "tcp" || provider == "net";
  const std::uint64_t stream = record_bytes + (native ? messages * kTcpMessageHeaderBytes : 0);
  return frames == 0 ? tcp_frame_bytes(stream, mtu) : stream + frames * kTcpFrameOverheadBytes;
}

std::uint64_t resent_bytes(std::uint64_t segments, int mtu) {
  return segments * (static_cast<std::uint64_t>(mtu) + kTcpFrameOverheadBytes - kTcpHeaderBytes);
}

std::string describe_counter(std::string_view provider) {
  if (!is_tcp_provider(provider)) return {};
  return fmt::format(
      "counters as frames: records + {} B of header a message (puts, counts, credits, heartbeats) "
      "+ "
      "{} B a frame that the counter counted",
      kTcpMessageHeaderBytes,
      kTcpFrameOverheadBytes);
}

std::string describe_framing(std::string_view provider, int mtu) {
  if (!is_tcp_provider(provider)) return {};
  return fmt::format(
      "frame bytes are estimated: record bytes + {} B per started {} B segment (IPv4, TCP with "
      "timestamps, Ethernet header; MTU {}); acknowledgements are left out",
      kTcpFrameOverheadBytes,
      static_cast<std::uint64_t>(mtu) - kTcpHeaderBytes,
      mtu);
}

}  // namespace shunt::analysis
