// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Failure text: time-outs of every DeepEP generation, HybridEP, NVSHMEM, NCCL and verbs errors. One
// table says which words mean which pattern; "name: value" and "name = value" pairs become fields.
#include <array>

#include "base/numeric.hpp"
#include "logs/readers.hpp"
#include "logs/text.hpp"

namespace shunt::logs {
namespace {

constexpr std::size_t kNone = std::string_view::npos;

struct Pattern {
  std::string_view words;  ///< "|"-separated; all must stand in the line.
  FailureKind kind;
  std::string_view id;
};

/// Specific before general: the first match wins.
constexpr std::array<Pattern, 47> kPatterns{{
    {"DeepEP timeout check failed", FailureKind::kTimeout, "deepep-barrier"},
    {"forwarder timeout|RDMA meta", FailureKind::kTimeout, "deepep-forwarder-meta"},
    {"forwarder timeout|RDMA check", FailureKind::kTimeout, "deepep-forwarder-data"},
    {"forwarder timeout", FailureKind::kTimeout, "deepep-forwarder-nvl"},
    {"NVL receiver timeout", FailureKind::kTimeout, "deepep-nvl-receiver"},
    {"RDMA receiver timeout", FailureKind::kTimeout, "deepep-rdma-receiver"},
    {"sender coordinator timeout", FailureKind::kTimeout, "deepep-sender-coordinator"},
    {"RDMA sender timeout", FailureKind::kTimeout, "deepep-rdma-sender"},
    {"NVL sender timeout", FailureKind::kTimeout, "deepep-nvl-sender"},
    {"hybrid dispatch|timeout", FailureKind::kTimeout, "deepep-v2-forward"},
    {"hybrid combine|timeout", FailureKind::kTimeout, "deepep-v2-forward"},
    {"Gin barrier timeout", FailureKind::kTimeout, "deepep-v2-gin-barrier"},
    {"DeepEP notify timeout", FailureKind::kTimeout, "deepep-v2-notify"},
    {"timeout for dispatch receive", FailureKind::kTimeout, "deepep-ll-receive"},
    {"timeout for combine receive", FailureKind::kTimeout, "deepep-ll-receive"},
    {"timeout (dispatch CPU)", FailureKind::kTimeout, "deepep-cpu"},
    {"Global rank:|num_recv_tokens:", FailureKind::kTimeout, "deepep-cpu-counters"},
    {"moe_recv_expert_counter[", FailureKind::kTimeout, "deepep-cpu-expert-counter"},
    {"CPU side received count", FailureKind::kTimeout, "deepep-v2-cpu"},
    {"HYBRID-EP ALLGATHER TIMEOUT", FailureKind::kTimeout, "hybridep-allgather"},
    {"DeepEP|timeout", FailureKind::kTimeout, "deepep-timeout"},
    {"status >= 0|Assertion", FailureKind::kCompletion, "hybridep-cq"},
    {"tx_depth > 0", FailureKind::kAssert, "hybridep-tx-depth"},
    {"GPU as handler failed", FailureKind::kFallback, "nvshmem-ibgda-fallback"},
    {"cudaHostRegister with IoMemory failed", FailureKind::kFallback, "nvshmem-iomemory"},
    {"CPU fallback path", FailureKind::kFallback, "nvshmem-ibgda-fallback"},
    {"not enumerated as an mlx5 device", FailureKind::kNicSkipped, "nvshmem-not-mlx5"},
    {"Unable to create ah", FailureKind::kInitFailed, "nvshmem-ah"},
    {"create DCT share err", FailureKind::kInitFailed, "nvshmem-dct"},
    {"init failed for transport", FailureKind::kInitFailed, "nvshmem-transport"},
    {"DevComm setup failed", FailureKind::kInitFailed, "nccl-gin"},
    {"GIN|not supported", FailureKind::kInitFailed, "nccl-gin"},
    {"illegal memory access", FailureKind::kCrash, "cuda-illegal-access"},
    {"unspecified launch failure", FailureKind::kCrash, "cuda-launch-failure"},
    {"transport retry counter exceeded", FailureKind::kCompletion, "retry-exceeded"},
    {"IBV_WC_RETRY_EXC_ERR", FailureKind::kCompletion, "retry-exceeded"},
    {"IBV_WC_RNR_RETRY_EXC_ERR", FailureKind::kCompletion, "rnr-exceeded"},
    {"got completion|error 12", FailureKind::kCompletion, "retry-exceeded"},
    {"got completion", FailureKind::kCompletion, "completion-error"},
    {"ibv_modify_qp failed", FailureKind::kInitFailed, "modify-qp"},
    {"ibv_modify_qp|110", FailureKind::kInitFailed, "modify-qp"},
    {"ibv_reg_mr|failed", FailureKind::kInitFailed, "register-memory"},
    {"Watchdog caught collective operation timeout", FailureKind::kTimeout, "torch-watchdog"},
    {"NCCL WARN", FailureKind::kWarning, "nccl-warn"},
    {"NVSHMEM|nvshmem|abort", FailureKind::kInitFailed, "nvshmem-abort"},
    {"non-zero status|nvshmem", FailureKind::kInitFailed, "nvshmem-status"},
    {"NVSHMEM|failed", FailureKind::kInitFailed, "nvshmem-failed"},
}};

const Pattern* match(std::string_view text) {
  for (const Pattern& pattern : kPatterns) {
    bool all = true;
    for (const std::string_view word : split(pattern.words, '|')) {
      all = all && contains_ci(text, word);
    }
    if (all) return &pattern;
  }
  return nullptr;
}

/// "RDMA: 1, nvl: 4, src RDMA lane: 0, meta: 0, 0, 0, 0": a piece without a name belongs to the
/// name before it.
void read_fields(std::string_view text, Failure& failure) {
  std::string last;
  for (std::string_view piece : split(text, ',')) {
    std::size_t mark = piece.rfind(':');
    if (mark == kNone) mark = piece.rfind('=');
    if (mark == kNone) {
      if (!last.empty() && !piece.empty()) failure.fields[last].append(1, ' ').append(piece);
      continue;
    }
    std::string_view name = trim(piece.substr(0, mark));
    // The first piece carries the sentence in front of the name ("… failed: rank = 6").
    if (const std::size_t colon = name.rfind(": "); colon != kNone) {
      name = trim(name.substr(colon + 2));
    }
    std::string_view value = trim(piece.substr(mark + 1));
    while (!value.empty() && (value.back() == ')' || value.back() == '.')) value.remove_suffix(1);
    if (name.empty() || name.size() > 40) continue;
    last = lowered(name);
    failure.fields[last] = std::string(value.substr(0, 80));
  }
}

/// Words that follow a pattern without punctuation: "rank 1, local_expert_idx 3, src_rank 9".
void read_spaced_fields(std::string_view text, Failure& failure) {
  for (const std::string_view name : {"local_expert_idx", "src_rank", "dst_rank", "rank"}) {
    const auto number = number_after(text, std::string(name) + " ");
    if (number && failure.fields.find(std::string(name)) == failure.fields.end()) {
      failure.fields[std::string(name)] =
          std::string(text.substr(number->begin, number->end - number->begin));
    }
  }
}

std::optional<int> field_int(const Failure& failure, std::string_view name) {
  const auto it = failure.fields.find(std::string(name));
  if (it == failure.fields.end()) return std::nullopt;
  const auto number = whole_number(it->second);
  return number ? checked_cast<int>(number->value) : std::nullopt;
}

/// NVSHMEM INFO lines that map ranks to devices, and bootstrap lines that prove a rank alive.
bool read_nvshmem_info(std::string_view text, std::size_t i, Sink& sink) {
  if (text.find("setting dev_id") != kNone) {
    const auto dev = number_after(text, "dev_id =");
    const std::size_t open = text.find('[');
    const auto local = open == kNone ? std::nullopt : number_at(text, open + 1);
    if (!dev || !local) return false;
    Mapping mapping;
    mapping.kind = "dev_id";
    mapping.rank = index_of(*local);
    mapping.value = std::string(text.substr(dev->begin, dev->end - dev->begin));
    sink.recognised("NVSHMEM device mapping");
    sink.add(i, std::move(mapping));
    return true;
  }
  if (text.find("bootstrap_uid") != kNone && text.find("nranks") != kNone) {
    const auto rank = number_after(text, "rank ");
    const auto ranks = number_after(text, "nranks ");
    if (!rank || !ranks) return false;
    Mapping mapping;
    mapping.kind = "bootstrap";
    mapping.rank = index_of(*rank);
    mapping.value = std::string(text.substr(ranks->begin, ranks->end - ranks->begin));
    sink.add(i, std::move(mapping));
    return true;
  }
  return false;
}

/// "NCCL INFO Channel 00/0 : 1[17000] -> 0[17000] [receive] via NET/IB/0[/GDRDMA]"
bool read_nccl_channel(std::string_view text, std::size_t i, Sink& sink) {
  const std::size_t via = text.find("via NET/");
  if (text.find("Channel") == kNone || via == kNone) return false;
  Mapping mapping;
  mapping.kind = "nccl-net";
  mapping.value = std::string(split_space(text.substr(via + 4)).front());
  sink.recognised("NCCL INFO");
  sink.add(i, std::move(mapping));
  return true;
}

}  // namespace

void read_failures(const Document& document, Sink& sink) {
  for (std::size_t i = 0; i < document.lines.size(); ++i) {
    const Line& line = document.lines[i];
    const std::string_view text = line.text;
    if (sink.claimed(i) || text.empty()) continue;
    if (read_nvshmem_info(text, i, sink) || read_nccl_channel(text, i, sink)) continue;
    const Pattern* pattern = match(text);
    if (pattern == nullptr) continue;
    Failure failure;
    failure.kind = pattern->kind;
    failure.pattern = std::string(pattern->id);
    read_fields(text, failure);
    read_spaced_fields(text, failure);
    if (pattern->id == "nvshmem-not-mlx5") {
      const std::size_t device = find_ci(text, "device ");
      failure.fields["device"] = std::string(split_space(text.substr(device + 7)).front());
    }
    if (const auto rank = field_int(failure, "rank")) failure.rank = rank;
    if (const auto rank = field_int(failure, "global rank")) failure.rank = rank;
    // A cut record names no last field: keep it for its pattern, say it was cut.
    if (line.last && failure.kind == FailureKind::kTimeout && text.back() != ')' &&
        !is_digit(text.back())) {
      sink.truncated(i, "failure line");
      continue;
    }
    sink.recognised("failure text");
    sink.add(i, std::move(failure));
  }
}

}  // namespace shunt::logs
