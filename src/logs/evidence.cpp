// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "logs/evidence.hpp"

#include <algorithm>

#include "logs/text.hpp"

namespace shunt::logs {

const char* to_string(Operation operation) {
  switch (operation) {
    case Operation::kUnknown:
      return "transfer";
    case Operation::kDispatch:
      return "dispatch";
    case Operation::kCombine:
      return "combine";
    case Operation::kPair:
      return "dispatch + combine";
    case Operation::kAllToAll:
      return "all-to-all";
    case Operation::kAllReduce:
      return "all-reduce";
    case Operation::kAllGather:
      return "all-gather";
    case Operation::kReduceScatter:
      return "reduce-scatter";
    case Operation::kBroadcast:
      return "broadcast";
    case Operation::kReduce:
      return "reduce";
    case Operation::kSendRecv:
      return "send/recv";
    case Operation::kPut:
      return "put";
    case Operation::kGet:
      return "get";
    case Operation::kWrite:
      return "RDMA write";
    case Operation::kRead:
      return "RDMA read";
    case Operation::kSend:
      return "send";
  }
  return "transfer";
}

const char* to_string(Path path) {
  switch (path) {
    case Path::kUnknown:
      return "unknown";
    case Path::kRdma:
      return "RDMA, own node counted";
    case Path::kNvl:
      return "scale-up";
    case Path::kSelection:
      return "all selections";
    case Path::kAlgorithm:
      return "bytes per rank";
    case Path::kWire:
      return "wire";
    case Path::kMemory:
      return "local copy";
  }
  return "unknown";
}

const char* to_string(Origin origin) {
  switch (origin) {
    case Origin::kProse:
      return "prose";
    case Origin::kLog:
      return "log";
    case Origin::kEnvironment:
      return "environment";
    case Origin::kCommandLine:
      return "command line in the log";
    case Origin::kOption:
      return "--set";
  }
  return "unknown";
}

const char* to_string(FailureKind kind) {
  switch (kind) {
    case FailureKind::kTimeout:
      return "time-out";
    case FailureKind::kInitFailed:
      return "initialisation failed";
    case FailureKind::kFallback:
      return "fallback path";
    case FailureKind::kNicSkipped:
      return "NIC skipped";
    case FailureKind::kCompletion:
      return "completion with error";
    case FailureKind::kAssert:
      return "assertion";
    case FailureKind::kCrash:
      return "crash";
    case FailureKind::kLinkDown:
      return "link down";
    case FailureKind::kWrongData:
      return "wrong data";
    case FailureKind::kWarning:
      return "warning";
  }
  return "unknown";
}

std::vector<const ConfigFact*> Evidence::find_all(std::string_view key, int file) const {
  std::vector<const ConfigFact*> out;
  for (const ConfigFact& fact : config) {
    if (fact.key == key) out.push_back(&fact);
  }
  std::ranges::stable_sort(out, [file](const ConfigFact* a, const ConfigFact* b) {
    if ((a->origin == Origin::kOption) != (b->origin == Origin::kOption)) {
      return a->origin == Origin::kOption;
    }
    const bool own_a = a->source.file == file;
    const bool own_b = b->source.file == file;
    if (file >= 0 && own_a != own_b) return own_a;
    return a->origin > b->origin;
  });
  return out;
}

const ConfigFact* Evidence::find(std::string_view key, int file) const {
  const auto all = find_all(key, file);
  return all.empty() ? nullptr : all.front();
}

std::optional<double> Evidence::number(std::string_view key, int file) const {
  const ConfigFact* fact = find(key, file);
  if (fact == nullptr) return std::nullopt;
  const auto number = whole_number(fact->value);
  if (!number) return std::nullopt;
  return number->value;
}

bool Evidence::empty() const {
  return samples.empty() && sweeps.empty() && failures.empty() && mappings.empty() &&
         rate_matrices.empty() && token_counts.empty() && topologies.empty() && counters.empty() &&
         links.empty() && peer_access.empty() && traces.empty();
}

}  // namespace shunt::logs
