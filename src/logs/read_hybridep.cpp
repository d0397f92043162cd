// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// HybridEP's test, three generations:
//   A/B "[rank 3] HybridEP dispatch torch API (BF16): 64.91 GB/s (IB), t: 1803.92 us,
//        rdma_send_bytes: 117.09 MB"
//   A/B "[rank 3] HybridEP dispatch kernel(IB) (BF16): 82.03 GB/s, avg_t=1427.30 us | HybridEP …"
//   C   "dispatch (BF16):   68.35 GB/s (RDMA), t: 1712.4 us [min=1711.9, max=1713.0],
//        rdma_send_bytes: 117.05 MB"
//   C   "dispatch kernel (BF16)(RDMA):   83.48 GB/s, avg_t=1402.2 us [min=1377.0, max=1431.0]"
#include <algorithm>

#include <fmt/format.h>

#include "logs/readers.hpp"
#include "logs/text.hpp"

namespace shunt::logs {
namespace {

constexpr std::size_t kNone = std::string_view::npos;

/// What the word before the colon says: "fused dispatch+permute kernel (BF16)(NVL)".
struct Label {
  Operation operation = Operation::kUnknown;
  std::string variant;
  std::string dtype;
  Path path = Path::kUnknown;
  Span span = Span::kApi;
  bool branded = false;
};

std::string dtype_in(std::string_view text) {
  for (const std::string_view name : {"nvfp4", "mxfp8", "fp8", "bf16", "fp16"}) {
    if (contains_ci(text, name)) return std::string(name);
  }
  return {};
}

Path path_in(std::string_view text) {
  if (text.find("(NVL)") != kNone) return Path::kNvl;
  if (text.find("(RDMA)") != kNone || text.find("(IB)") != kNone) return Path::kRdma;
  return Path::kUnknown;
}

std::optional<Label> read_label(std::string_view text) {
  Label label;
  text = trim(text);
  if (starts_with_ci(text, "HybridEP ")) {
    label.branded = true;
    text.remove_prefix(9);
  }
  if (starts_with_ci(text, "fused ")) {
    label.variant = "fused ";
    text.remove_prefix(6);
  }
  if (starts_with_ci(text, "dispatch")) {
    label.operation = Operation::kDispatch;
    text.remove_prefix(8);
  } else if (starts_with_ci(text, "combine")) {
    label.operation = Operation::kCombine;
    text.remove_prefix(7);
  } else {
    return std::nullopt;
  }
  if (starts_with_ci(text, "+permute")) label.variant += "permute";
  if (starts_with_ci(text, "+unpermute")) label.variant += "unpermute";
  const std::string_view rest =
      text.substr(std::min(text.size(), text.find_first_of(" (", 0) == kNone ? text.size() : 0));
  if (contains_ci(rest, "kernel")) label.span = Span::kKernel;
  if (contains_ci(rest, "bandwidth")) return std::nullopt;
  label.dtype = dtype_in(rest);
  label.path = path_in(rest);
  return label;
}

/// Reads one "label: rate …" piece; nullopt if it is none, `cut` set if it stops too early.
std::optional<Sample> read_piece(std::string_view piece, bool& cut) {
  const std::size_t colon = piece.find(':');
  if (colon == kNone) return std::nullopt;
  const auto label = read_label(piece.substr(0, colon));
  if (!label) return std::nullopt;
  const std::string_view values = piece.substr(colon + 1);
  const auto rate = number_at(values, 0);
  if (!rate || !starts_with_ci(trim(values.substr(rate->end)), "GB/s")) {
    cut = label->branded || (rate && trim(values.substr(rate->end)).empty());
    return std::nullopt;
  }
  Sample sample;
  sample.format = "hybridep";
  sample.operation = label->operation;
  sample.variant = label->variant;
  sample.dtype = label->dtype;
  sample.span = label->span;
  sample.path = label->path != Path::kUnknown ? label->path : path_in(values);
  sample.rate_gbs = rate->value;
  sample.rate_error = rate->half_ulp();
  auto time = number_after(values, "avg_t=", "us");
  if (!time) time = number_after(values, " t:", "us");
  if (!time) {
    cut = true;
    return std::nullopt;
  }
  sample.time_us = time->value;
  if (const auto min = number_after(values, "[min=")) sample.min_us = min->value;
  const bool open = values.find('[') != kNone && values.find(']') == kNone;
  if (const auto max = number_after(values, "max="); max && !open) sample.max_us = max->value;
  if (const auto bytes = number_after(values, "_bytes:", "MB")) {
    sample.bytes = bytes->value * 1e6;
    sample.bytes_error = bytes->half_ulp() * 1e6;
  }
  if (open) {
    cut = true;
    return std::nullopt;
  }
  // Generation A printed kernels without "(NVL)" and knew no other path.
  if (sample.path == Path::kUnknown) sample.path = Path::kNvl;
  return sample;
}

/// "=== Torch API Benchmark (BF16, 16 ranks) ==="
bool read_header(std::string_view text, std::size_t line, std::string& dtype, Sink& sink) {
  if (!contains_ci(text, "benchmark (")) return false;
  const auto ranks = number_before(text, "ranks");
  if (!ranks) return false;
  dtype = dtype_in(text);
  sink.config(line, "world", fmt::format("{:.0f}", ranks->value), Origin::kLog);
  sink.claim(line);
  return true;
}

bool read_check(std::string_view text, std::size_t line, Sink& sink) {
  const bool pass = contains_ci(text, "Correctness check passed") ||
                    (contains_ci(text, "API:") && contains_ci(text, "PASS"));
  const bool fail = contains_ci(text, "Correctness check failed") ||
                    (contains_ci(text, "API:") && find_word_ci(text, "FAIL") != kNone) ||
                    (contains_ci(text, "API:") && find_word_ci(text, "FAILED") != kNone);
  if (fail) {
    Failure failure;
    failure.kind = FailureKind::kWrongData;
    failure.pattern = "correctness-check";
    sink.add(line, std::move(failure));
  } else if (pass) {
    sink.claim(line);
  }
  return pass || fail;
}

}  // namespace

void read_hybridep(const Document& document, Sink& sink) {
  std::string run_dtype;
  int run = 0;
  bool seen = false;
  for (std::size_t i = 0; i < document.lines.size(); ++i) {
    const Line& line = document.lines[i];
    const std::string_view text = line.text;
    if (sink.claimed(i) || text.empty()) continue;
    if (read_header(text, i, run_dtype, sink)) {
      if (contains_ci(text, "Torch API")) ++run;
      continue;
    }
    if (read_check(text, i, sink)) continue;
    // "Non-fused:  dispatch_kernel only  |  combine_kernel only": what the next lines time.
    if (starts_with_ci(text, "Non-fused:") || starts_with_ci(text, "Fused:")) {
      sink.claim(i);
      continue;
    }
    if (!contains_ci(text, "dispatch") && !contains_ci(text, "combine")) continue;
    if (text.find("(SO)") != kNone || text[0] == '|') continue;
    bool cut = false;
    for (const std::string_view piece : split(text, '|')) {
      bool piece_cut = false;
      auto sample = read_piece(piece, piece_cut);
      cut = cut || piece_cut;
      if (!sample) continue;
      if (sample->operation == Operation::kDispatch && !sample->dtype.empty()) {
        run_dtype = sample->dtype;
      }
      if (run_dtype == "fp8") sample->settings["fp8_run"] = 1;
      sample->run = run;
      sample->group = heading_of(document, i);
      sink.recognised("HybridEP");
      sink.add(i, std::move(*sample));
      seen = true;
    }
    // A bracket that never closes, below records of this run.
    const bool open = seen && text.find("GB/s") != kNone && text.rfind('[') != kNone &&
                      text.find(']', text.rfind('[')) == kNone;
    if (cut && (line.last || open || contains_ci(text, "HybridEP"))) sink.truncated(i, "HybridEP");
  }
}

}  // namespace shunt::logs
