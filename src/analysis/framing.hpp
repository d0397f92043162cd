// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// What a byte stream costs on the wire. in: bytes handed to a provider → out: bytes of its frames.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace shunt::analysis {

/// TCP over IPv4 over Ethernet, for a given MTU:
///   payload of a full segment  MTU − 20 (IPv4) − 20 (TCP) − 12 (TCP timestamps, RFC 7323)
///                              (1448 of 1500, 8948 of 9000)
///   counted around it          20 + 20 + 12 + 14 (Ethernet header) = 66
/// Preamble, inter-frame gap and FCS are not counted: neither a token bucket nor an interface
/// counter sees them. Pure acknowledgements travel the other way and are not in the estimate.
inline constexpr std::uint64_t kTcpHeaderBytes = 52;
inline constexpr int kEthernetMtu = 1500;
inline constexpr std::uint64_t kTcpFrameOverheadBytes = 66;

/// What libfabric's native tcp provider ("tcp", "net" in 1.17) sends before the bytes of a put with
/// an immediate: base header 16, remote completion data 8, address, length and key 24.
inline constexpr std::uint64_t kTcpMessageHeaderBytes = 48;

/// True for the libfabric providers that move bytes over TCP: "tcp", "net", "sockets",
/// "tcp;ofi_rxm".
[[nodiscard]] bool is_tcp_provider(std::string_view provider);

/// Frames of a saturated stream: bytes + ⌈bytes / segment⌉ · 66. A lower bound: a stream that is
/// cut into puts with pauses between has a short segment at the end of each.
[[nodiscard]] std::uint64_t tcp_frame_bytes(std::uint64_t stream_bytes, int mtu = kEthernetMtu);

/// nullopt for a provider whose framing is not modelled.
[[nodiscard]] std::optional<std::uint64_t> frame_bytes(std::string_view provider,
                                                       std::uint64_t stream_bytes,
                                                       int mtu = kEthernetMtu);

/// What a counter of a link should have moved for puts of `record_bytes`, credits and heartbeats
/// included where their number is known; frames as the counter counted them where it did (then
/// acknowledgements of the other direction are among them). nullopt as above.
[[nodiscard]] std::optional<std::uint64_t> counter_bytes(std::string_view provider,
                                                         std::uint64_t record_bytes,
                                                         std::uint64_t messages,
                                                         std::uint64_t frames,
                                                         int mtu);

/// One line that states counter_bytes(), for reports; empty where nothing is modelled.
[[nodiscard]] std::string describe_counter(std::string_view provider);

/// The most that `segments` TCP segments sent again can have cost.
[[nodiscard]] std::uint64_t resent_bytes(std::uint64_t segments, int mtu);

/// One line that states the formula in force, for reports; empty where none is.
[[nodiscard]] std::string describe_framing(std::string_view provider, int mtu = kEthernetMtu);

}  // namespace shunt::analysis
