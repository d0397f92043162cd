// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "verdict/foreign/completions.hpp"

#include <array>
#include <map>
#include <set>
#include <string>

#include <fmt/format.h>

#include "base/numeric.hpp"
#include "logs/text.hpp"
#include "verdict/foreign/build.hpp"

namespace shunt::verdict::foreign {
namespace {

using logs::Failure;

/// enum ibv_wc_status of rdma-core's verbs.h: the numbers are ABI.
constexpr std::array<CompletionStatus, 12> kStatuses{{
    {1,
     "local length error",
     "init-failed",
     "A message was longer than the buffer posted for it: the two sides disagree about sizes.",
     "Compare versions and settings of both sides."},
    {2,
     "local QP operation error",
     "init-failed",
     "The NIC refused a work request as malformed.",
     "Check the driver's and the library's versions, and QP limits."},
    {4,
     "local protection error",
     "init-failed",
     "The NIC may not touch the memory that the request names: its registration does not cover it. "
     "With GPU buffers: GPUDirect (nvidia-peermem, dmabuf) is missing or broken. The link is not "
     "at fault.",
     "Load nvidia-peermem or use dmabuf, try without GPUDirect (NCCL_NET_GDR_LEVEL=LOC) to tell "
     "the two apart; look for an IOMMU or ACS in the way."},
    {5,
     "work request flushed",
     "timeout",
     "The queue pair was already in error and its requests were flushed: a consequence. The cause "
     "is the first completion that is not a flush, here or on another rank.",
     "Find the first error that is not status 5, on all ranks."},
    {8,
     "local access error",
     "init-failed",
     "The NIC may not write to the local buffer of a read or atomic.",
     "Check the access flags of the registration."},
    {9,
     "remote invalid request",
     "init-failed",
     "The peer's NIC refused the request: wrong size, or an operation its QP does not take.",
     "Compare versions and settings of both sides; MTU and QP capabilities."},
    {10,
     "remote access error",
     "init-failed",
     "The peer's NIC refused the address or key: its memory is not registered, or no longer.",
     "Look at the peer: did it restart, free or re-register its buffers?"},
    {11,
     "remote operation error",
     "timeout",
     "The peer's NIC failed while it carried the request out.",
     "Look at the peer's log and its NIC's health."},
    {12,
     "transport retry counter exceeded",
     "timeout",
     "A queue pair ran out of transport retries: no acknowledgement came, so the peer or the path "
     "to it is gone, or loses packets. At the start of a run: no route between these two ports.",
     "Check the named peer's port, cables, PFC, GID index and VLAN; ping between the two NICs; "
     "raise the IB timeout only to gain time."},
    {13,
     "RNR retry counter exceeded",
     "timeout",
     "The receiver stayed not ready: it posted no receives.",
     "Look at the receiving rank."},
    {19,
     "fatal error",
     "timeout",
     "The NIC reports a fatal error.",
     "dmesg, firmware, mlxfwmanager or the vendor's tool."},
    {21,
     "general error",
     "timeout",
     "The NIC reports an error that no other code covers.",
     "Decode the vendor's syndrome."},
}};

struct Seen {
  const Failure* first = nullptr;
  std::set<std::string> peers;
  std::set<std::string> vendors;
  int count = 0;
};

std::string field(const Failure& failure, const std::string& name) {
  const auto it = failure.fields.find(name);
  return it == failure.fields.end() ? std::string() : it->second;
}

std::string vendor_words(const std::set<std::string>& vendors) {
  std::string text;
  for (const std::string& vendor : vendors) {
    const auto number = logs::whole_number(vendor);
    const int code = number ? checked_cast<int>(number->value).value_or(0) : 0;
    text += fmt::format("; vendor code {}{}",
                        vendor,
                        code == 129   ? " (0x81 of mlx5: no acknowledgement)"
                        : code == 249 ? " (0xf9 of mlx5: flushed)"
                                      : "");
  }
  return text;
}

}  // namespace

const CompletionStatus* completion_status(int number) {
  for (const CompletionStatus& status : kStatuses) {
    if (status.number == number) return &status;
  }
  return nullptr;
}

void judge_completions(const Situation& s, Findings& findings) {
  std::map<int, Seen> by_status;
  for (const Failure& failure : s.evidence.failures) {
    const auto number = logs::whole_number(field(failure, "wc status"));
    if (!number) continue;
    Seen& seen = by_status[checked_cast<int>(number->value).value_or(-1)];
    if (seen.first == nullptr) seen.first = &failure;
    ++seen.count;
    if (const std::string peer = field(failure, "peer"); !peer.empty()) seen.peers.insert(peer);
    if (const std::string vendor = field(failure, "vendor"); !vendor.empty()) {
      seen.vendors.insert(vendor);
    }
  }
  // A flush beside another error is the other error's consequence.
  const bool only_flushes = by_status.size() == 1;
  for (const auto& [number, seen] : by_status) {
    const CompletionStatus* status = completion_status(number);
    const bool consequence = number == 5 && !only_flushes;
    const std::string peers = seen.peers.empty() ? std::string()
                                                 : fmt::format(" Peer{}: {}.",
                                                               seen.peers.size() == 1 ? "" : "s",
                                                               fmt::join(seen.peers, ", "));
    findings.push_back(
        Build(std::string(status == nullptr ? "timeout" : status->finding),
              consequence ? Severity::kInfo : Severity::kCritical,
              status == nullptr ? Confidence::kLow : Confidence::kHigh,
              "completions")
            .say(status == nullptr
                     ? fmt::format("A completion came back with status {}.{}", number, peers)
                     : fmt::format("{}{}", status->sentence, peers))
            .fact(seen.count == 1 ? "line" : fmt::format("first of {} lines", seen.count),
                  seen.first->source.text,
                  place(s, seen.first->source))
            .because(fmt::format("status {} of a work completion is \"{}\" (ibv_wc_status){}",
                                 number,
                                 status == nullptr ? "unknown" : status->name,
                                 vendor_words(seen.vendors)))
            .act(std::string(status == nullptr ? "Look the status up in verbs.h."
                                               : status->action)));
  }
}

}  // namespace shunt::verdict::foreign
