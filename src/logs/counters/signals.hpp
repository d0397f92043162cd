// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// What a driver's counter means: one table in data. in: counter name → out: canonical signal, unit,
// width. Pure.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace shunt::logs {

/// Canonical signals. In JSON by name.
enum class Signal {
  kTxBytes,
  kRxBytes,
  kTxPackets,
  kRxPackets,
  kPriorityTxBytes,  ///< Of one traffic class; its number is in the name.
  kPriorityRxBytes,
  kPriorityTxPackets,
  kPriorityRxPackets,
  // Congestion in the fabric (DCQCN).
  kEcnMarked,   ///< Packets that arrived with the congestion mark.
  kCnpSent,     ///< Congestion notifications sent by this receiver.
  kCnpHandled,  ///< Notifications that slowed this sender down.
  kCnpIgnored,
  // Lossless pressure.
  kPauseReceived,    ///< The network told this host to stop.
  kPauseReceivedUs,  ///< For how long, µs.
  kPauseSent,        ///< This host told the network to stop.
  kPauseSentUs,
  kPauseStorm,
  kXmitWait,  ///< Ticks with data queued and no credit; the tick is the device's.
  // Loss.
  kOutOfSequence,
  kSequenceError,
  kDuplicate,
  kAckTimeout,
  kRetransmit,
  kRetriesExceeded,
  kDiscard,
  // Receiver not ready.
  kRnr,
  kOutOfBuffer,
  // Link health.
  kSymbolError,
  kLinkRecovery,
  kLinkDowned,
  kReceiveError,
  kRemotePhysicalError,
  kIntegrityError,
  kOverrun,
  kCrcError,
  kPciError,
  kConstraintError,
  // Neither traffic nor fault.
  kCorrected,  ///< Repaired by FEC or replay: no fault by itself.
  kRequestError,
  kInfo,  ///< Known, and of no use to a verdict.
};

/// What a signal is evidence of.
enum class SignalClass { kTraffic, kCongestion, kPressure, kLoss, kReceiver, kLinkHealth, kInfo };

[[nodiscard]] const char* to_string(Signal signal);
[[nodiscard]] const char* to_string(SignalClass group);
[[nodiscard]] SignalClass class_of(Signal signal);

struct SignalRow {
  std::string_view driver;  ///< "ib", "mlx5", "bnxt_re", "efa", "hfi1", "nvlink" …
  std::string_view name;    ///< '#' stands for a number (priority, lane).
  Signal signal = Signal::kInfo;
  int unit = 1;    ///< Printed value · unit = bytes, packets, events or µs.
  int width = 64;  ///< Bits at which it wraps.
};

[[nodiscard]] std::span<const SignalRow> signal_table();

/// The row of a printed name; nullptr if the table does not have it.
[[nodiscard]] const SignalRow* find_signal(std::string_view name);

/// The first number in a name: the priority of "rx_prio3_pause".
[[nodiscard]] std::optional<int> number_in(std::string_view name);

}  // namespace shunt::logs
