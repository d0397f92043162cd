// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "record/record.hpp"

namespace shunt::record {

const char* to_string(Phase phase) {
  switch (phase) {
    case Phase::kNone:
      return "none";
    case Phase::kCountExchange:
      return "count_exchange";
    case Phase::kCopyToStaging:
      return "copy_to_staging";
    case Phase::kDispatchInterNodeSend:
      return "dispatch_inter_node_send";
    case Phase::kDispatchInterNodeRecv:
      return "dispatch_inter_node_recv";
    case Phase::kDispatchIntra:
      return "dispatch_intra";
    case Phase::kDispatchSync:
      return "dispatch_sync";
    case Phase::kDispatchOutputCopy:
      return "dispatch_output_copy";
    case Phase::kCombineSync:
      return "combine_sync";
    case Phase::kCombineSyncBarrier:
      return "combine_sync_barrier";
    case Phase::kCombineInterNode:
      return "combine_inter_node";
    case Phase::kCombineIntraNode:
      return "combine_intra_node";
    case Phase::kCombineAll:
      return "combine_all";
    case Phase::kCombineRelease:
      return "combine_release";
    case Phase::kDispatch:
      return "dispatch";
    case Phase::kCombine:
      return "combine";
  }
  return "unknown";
}

const char* to_string(SpanKind kind) {
  switch (kind) {
    case SpanKind::kPhase:
      return "phase";
    case SpanKind::kPost:
      return "post";
    case SpanKind::kWait:
      return "wait";
    case SpanKind::kCopy:
      return "copy";
    case SpanKind::kReduce:
      return "reduce";
    case SpanKind::kBarrier:
      return "barrier";
  }
  return "unknown";
}

const char* to_string(WaitReason reason) {
  switch (reason) {
    case WaitReason::kNone:
      return "none";
    case WaitReason::kCounts:
      return "counts";
    case WaitReason::kArrival:
      return "arrival";
    case WaitReason::kCredit:
      return "credit";
    case WaitReason::kStaging:
      return "staging";
    case WaitReason::kPost:
      return "post";
    case WaitReason::kPeerDone:
      return "peer_done";
  }
  return "unknown";
}

std::optional<Phase> parse_phase(std::string_view name) {
  for (std::uint16_t value = 0; value < 64; ++value) {
    const auto phase = static_cast<Phase>(value);
    if (name != "unknown" && name == to_string(phase)) return phase;
  }
  return std::nullopt;
}

}  // namespace shunt::record
