// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "analysis/framing.hpp"

#include <fmt/format.h>

namespace shunt::analysis {

bool is_tcp_provider(std::string_view provider) {
  const std::string_view core = provider.substr(0, provider.find(';'));
  return core == "tcp" || core == "net" || core == "sockets";
}

std::uint64_t tcp_frame_bytes(std::uint64_t stream_bytes) {
  const std::uint64_t segments = (stream_bytes + kTcpSegmentBytes - 1) / kTcpSegmentBytes;
  return stream_bytes + segments * kTcpFrameOverheadBytes;
}

std::optional<std::uint64_t> frame_bytes(std::string_view provider, std::uint64_t stream_bytes) {
  if (!is_tcp_provider(provider)) return std::nullopt;
  return tcp_frame_bytes(stream_bytes);
}

std::string describe_framing(std::string_view provider) {
  if (!is_tcp_provider(provider)) return {};
  return fmt::format(
      "frame bytes are estimated: record bytes + {} B per started {} B segment (IPv4, TCP with "
      "timestamps, Ethernet header; MTU 1500); acknowledgements are left out",
      kTcpFrameOverheadBytes,
      kTcpSegmentBytes);
}

}  // namespace shunt::analysis
