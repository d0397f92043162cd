// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "logs/counters/signals.hpp"

#include <algorithm>
#include <iterator>

#include "logs/text.hpp"

namespace shunt::logs {
namespace {

constexpr SignalRow kTable[] = {
#include "logs/counters/signals.inc"
};

/// `pattern` with '#' for one or more digits.
bool matches(std::string_view pattern, std::string_view name) {
  std::size_t at = 0;
  for (const char c : pattern) {
    if (c != '#') {
      if (at >= name.size() || name[at] != c) return false;
      ++at;
      continue;
    }
    const std::size_t begin = at;
    while (at < name.size() && is_digit(name[at])) ++at;
    if (at == begin) return false;
  }
  return at == name.size();
}

}  // namespace

std::span<const SignalRow> signal_table() {
  return kTable;
}

const SignalRow* find_signal(std::string_view name) {
  // Representors print the same counters under a prefix.
  if (name.substr(0, 6) == "vport_") name.remove_prefix(6);
  const auto* found = std::find_if(std::begin(kTable), std::end(kTable), [name](const auto& row) {
    return matches(row.name, name);
  });
  return found == std::end(kTable) ? nullptr : found;
}

std::optional<int> number_in(std::string_view name) {
  const std::size_t at = name.find_first_of("0123456789");
  if (at == std::string_view::npos) return std::nullopt;
  int value = 0;
  for (std::size_t i = at; i < name.size() && i < at + 4 && is_digit(name[i]); ++i) {
    value = value * 10 + (name[i] - '0');
  }
  return value;
}

SignalClass class_of(Signal signal) {
  if (signal <= Signal::kPriorityRxPackets) return SignalClass::kTraffic;
  if (signal <= Signal::kCnpIgnored) return SignalClass::kCongestion;
  if (signal <= Signal::kXmitWait) return SignalClass::kPressure;
  if (signal <= Signal::kDiscard) return SignalClass::kLoss;
  if (signal <= Signal::kOutOfBuffer) return SignalClass::kReceiver;
  return signal <= Signal::kConstraintError ? SignalClass::kLinkHealth : SignalClass::kInfo;
}

const char* to_string(SignalClass group) {
  static constexpr const char* kNames[] = {"traffic",
                                           "congestion",
                                           "lossless pressure",
                                           "loss",
                                           "receiver not ready",
                                           "link health",
                                           "other"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(SignalClass::kInfo) + 1);
  return kNames[static_cast<std::size_t>(group)];
}

const char* to_string(Signal signal) {
  static constexpr const char* kNames[] = {"tx_bytes",
                                           "rx_bytes",
                                           "tx_packets",
                                           "rx_packets",
                                           "priority_tx_bytes",
                                           "priority_rx_bytes",
                                           "priority_tx_packets",
                                           "priority_rx_packets",
                                           "ecn_marked",
                                           "cnp_sent",
                                           "cnp_handled",
                                           "cnp_ignored",
                                           "pause_received",
                                           "pause_received_us",
                                           "pause_sent",
                                           "pause_sent_us",
                                           "pause_storm",
                                           "xmit_wait",
                                           "out_of_sequence",
                                           "sequence_error",
                                           "duplicate",
                                           "ack_timeout",
                                           "retransmit",
                                           "retries_exceeded",
                                           "discard",
                                           "rnr",
                                           "out_of_buffer",
                                           "symbol_error",
                                           "link_recovery",
                                           "link_downed",
                                           "receive_error",
                                           "remote_physical_error",
                                           "integrity_error",
                                           "overrun",
                                           "crc_error",
                                           "pci_error",
                                           "constraint_error",
                                           "corrected",
                                           "request_error",
                                           "info"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(Signal::kInfo) + 1);
  return kNames[static_cast<std::size_t>(signal)];
}

}  // namespace shunt::logs
