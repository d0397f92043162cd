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
constexpr std::array<Pattern, 76> kPatterns{{
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
    {"cannot allocate buffer on the specified memory type",
     FailureKind::kInitFailed,
     "nvshmem-memory-type"},
    {"API called before NVSHMEM initialization", FailureKind::kInitFailed, "nvshmem-not-up"},
    {"API called before nvshmem_init", FailureKind::kInitFailed, "nvshmem-not-up"},
    {"init2rtr failed", FailureKind::kInitFailed, "modify-qp"},
    {"rtr2rts failed", FailureKind::kInitFailed, "modify-qp"},
    {"num_max_nvl_chunked_recv_tokens / num_rdma_ranks", FailureKind::kAssert, "deepep-chunks"},
    {"Assertion error", FailureKind::kAssert, "assertion"},
    {"device-side assert", FailureKind::kCrash, "cuda-launch-failure"},
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
    {"got completion", FailureKind::kCompletion, "completion-error"},
    {"Failed status|syndrom", FailureKind::kCompletion, "completion-error"},
    {"Completion with error", FailureKind::kCompletion, "completion-error"},
    {"completed with error|status", FailureKind::kCompletion, "completion-error"},
    {"ibv_modify_qp failed", FailureKind::kInitFailed, "modify-qp"},
    {"ibv_modify_qp|110", FailureKind::kInitFailed, "modify-qp"},
    {"ibv_reg_mr|failed", FailureKind::kInitFailed, "register-memory"},
    {"Failed to open libibverbs", FailureKind::kFallback, "nccl-no-verbs"},
    {"Duplicate GPU detected", FailureKind::kInitFailed, "nccl-duplicate-gpu"},
    {"NCCL WARN|peer mapping resources exhausted", FailureKind::kInitFailed, "nccl-cuda"},
    {"NCCL WARN|Cuda failure", FailureKind::kInitFailed, "nccl-cuda"},
    {"NCCL WARN|out of memory", FailureKind::kInitFailed, "nccl-cuda"},
    {"NCCL WARN|Connection refused", FailureKind::kInitFailed, "nccl-bootstrap"},
    {"NCCL WARN|Connection closed by remote peer", FailureKind::kInitFailed, "nccl-peer-gone"},
    {"NCCL WARN|No route to host", FailureKind::kInitFailed, "nccl-bootstrap"},
    {"NCCL WARN|timed out", FailureKind::kInitFailed, "nccl-bootstrap"},
    {"NCCL WARN|no socket interface found", FailureKind::kInitFailed, "nccl-bootstrap"},
    {"NCCL|unhandled system error", FailureKind::kInitFailed, "nccl-system-error"},
    {"NCCL|unhandled cuda error", FailureKind::kInitFailed, "nccl-cuda-error"},
    {"NCCL|remote process exited", FailureKind::kInitFailed, "nccl-remote-error"},
    {"ncclSystemError", FailureKind::kInitFailed, "nccl-system-error"},
    {"ncclUnhandledCudaError", FailureKind::kInitFailed, "nccl-cuda-error"},
    {"ncclRemoteError", FailureKind::kInitFailed, "nccl-remote-error"},
    {"ncclInternalError", FailureKind::kInitFailed, "nccl-internal-error"},
    {"Test NCCL failure", FailureKind::kInitFailed, "nccl-internal-error"},
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

/// "status=12 … vendor err 129 (Send)", "error 4, opcode …, vendor err 81", "Failed status 12:
/// wr_id 0 syndrom 0x81", "from peer 192.0.2.7<36315>".
void read_completion(std::string_view text, Failure& failure) {
  const auto number_text = [&](std::string_view key) -> std::string_view {
    const auto number = number_after(text, key);
    return number ? text.substr(number->begin, number->end - number->begin) : std::string_view{};
  };
  for (const std::string_view key : {"status=", "status ", "error "}) {
    const std::string_view value = number_text(key);
    if (value.empty()) continue;
    failure.fields["wc status"] = std::string(value);
    break;
  }
  if (const std::string_view vendor = number_text("vendor err "); !vendor.empty()) {
    failure.fields["vendor"] = std::string(vendor);
  }
  if (const std::size_t peer = find_ci(text, "from peer "); peer != kNone) {
    const std::string_view rest = text.substr(peer + 10);
    failure.fields["peer"] = std::string(rest.substr(0, rest.find_first_of("< ,")).substr(0, 64));
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

}  // namespace

void read_failures(const Document& document, Sink& sink) {
  for (std::size_t i = 0; i < document.lines.size(); ++i) {
    const Line& line = document.lines[i];
    const std::string_view text = line.text;
    if (sink.claimed(i) || text.empty()) continue;
    if (read_nvshmem_info(text, i, sink)) continue;
    const Pattern* pattern = match(text);
    if (pattern == nullptr) continue;
    Failure failure;
    failure.kind = pattern->kind;
    failure.pattern = std::string(pattern->id);
    read_fields(text, failure);
    read_spaced_fields(text, failure);
    if (pattern->kind == FailureKind::kCompletion) read_completion(text, failure);
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
