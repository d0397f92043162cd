// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Summaries of NCCL-EP's ep_bench and its relatives. Low latency counts every selection; high
// throughput prints the rows of other nodes as rdma_bw, its own node's as nvl_bw.
//   "=== Summary (Low Latency, across 16 ranks) ===", "--- Kernel-only performance ---"
//   "Dispatch (BF16):  avg=91.20 us, min=80.11 us, max=99.70 us"
//   "                  throughput: avg=161.2 GB/s, min=… (rank 3), max=… (rank 7)"
//   "Combine:     kernel=1520.10 us", "             recv: total_bw=…  nvl_bw=…  rdma_bw=… GB/s"
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "logs/readers.hpp"
#include "logs/text.hpp"

namespace shunt::logs {
namespace {

constexpr std::size_t kNone = std::string_view::npos;

class Summary {
 public:
  Summary(const Document& document, Sink& sink) : document_(document), sink_(sink) {}

  void read() {
    for (std::size_t i = 0; i < document_.lines.size(); ++i) {
      const std::string_view text = document_.lines[i].text;
      if (sink_.claimed(i) || text.empty()) continue;
      if (starts_summary(i, text) || !open_) continue;
      if (read_section(i, text) || read_operation(i, text) || read_throughput(i, text) ||
          read_bandwidths(i, text) || read_bytes(i, text)) {
        continue;
      }
    }
  }

 private:
  bool starts_summary(std::size_t i, std::string_view text) {
    if (!contains_ci(text, "Summary (")) return false;
    const bool low = contains_ci(text, "Low Latency");
    if (!low && !contains_ci(text, "High Throughput")) return false;
    const auto ranks = number_after(text, "across ", "rank");
    open_ = true;
    span_ = Span::kApi;
    current_.reset();
    dtype_ = contains_ci(text, "BF16") ? "bf16" : contains_ci(text, "FP8") ? "fp8" : "";
    ranks_ = ranks ? ranks->value : 0;
    if (ranks) {
      sink_.config(i, "world", fmt::format("{:.0f}", ranks->value), Origin::kLog);
    }
    ++run_;
    sink_.recognised("NCCL-EP ep_bench");
    sink_.claim(i);
    return true;
  }

  bool read_section(std::size_t i, std::string_view text) {
    const bool kernel = contains_ci(text, "Kernel-only") || contains_ci(text, "based on kernel");
    const bool call = contains_ci(text, "Host-observed") || contains_ci(text, "based on total");
    const bool note = starts_with_ci(text, "NOTE:");
    if (!kernel && !call && !note) return false;
    if (!note) span_ = kernel ? Span::kKernel : Span::kApi;
    current_.reset();
    sink_.claim(i);
    return true;
  }

  /// "Dispatch (FP8):  avg=… us, min=… us, max=… us", "Combine:  total=… us (min=…, max=…)",
  /// "Dispatch:  kernel=… us", "Total (D+C):  avg=… us".
  bool read_operation(std::size_t i, std::string_view text) {
    Sample sample;
    if (starts_with_ci(text, "Dispatch")) sample.operation = Operation::kDispatch;
    if (starts_with_ci(text, "Combine")) sample.operation = Operation::kCombine;
    if (starts_with_ci(text, "Total (D")) sample.operation = Operation::kPair;
    if (sample.operation == Operation::kUnknown) return false;
    auto time = number_after(text, "avg=");
    if (!time) time = number_after(text, "total=");
    if (!time) time = number_after(text, "kernel=");
    const auto min = number_after(text, "min=");
    if (!time) time = min;
    if (!time) {
      sink_.truncated(i, "ep_bench summary");
      return true;
    }
    sample.format = "ep-bench";
    sample.span = span_;
    sample.dtype = contains_ci(text, "FP8") ? "fp8" : dtype_;
    sample.time_us = time->value;
    if (min) sample.min_us = min->value;
    if (const auto max = number_after(text, "max=")) sample.max_us = max->value;
    sample.run = run_;
    if (ranks_ > 0) sample.settings["ranks"] = ranks_;
    sink_.claim(i);
    current_ = std::move(sample);
    return true;
  }

  /// The rate of the operation above: its average, or of the fastest rank where only that is shown.
  bool read_throughput(std::size_t i, std::string_view text) {
    if (!starts_with_ci(text, "throughput")) return false;
    sink_.claim(i);
    if (!current_) return true;
    auto rate = number_after(text, "avg=", "GB/s");
    if (!rate) {
      rate = number_after(text, "@min:", "GB/s");
      if (rate && current_->min_us) current_->time_us = current_->min_us;
    }
    if (!rate) {
      sink_.truncated(i, "ep_bench throughput");
      return true;
    }
    Sample sample = *current_;
    sample.path = Path::kSelection;
    sample.rate_gbs = rate->value;
    sample.rate_error = rate->half_ulp();
    sink_.add(i, std::move(sample));
    return true;
  }

  /// Dispatch is judged by what it receives, combine by what it sends: the same rows.
  bool read_bandwidths(std::size_t i, std::string_view text) {
    const bool receive = starts_with_ci(text, "recv:");
    if (!receive && !starts_with_ci(text, "send:")) return false;
    if (text.find("_bw=") == kNone) return false;
    sink_.claim(i);
    if (!current_ || receive != (current_->operation == Operation::kDispatch)) return true;
    const auto add = [&](std::string_view key, Path path, bool remote) {
      const auto rate = number_after(text, key);
      if (!rate) return;
      Sample sample = *current_;
      sample.path = path;
      sample.rate_gbs = rate->value;
      sample.rate_error = rate->half_ulp();
      if (remote) sample.settings["remote_only"] = 1;
      sink_.add(i, std::move(sample));
    };
    add("rdma_bw=", Path::kRdma, true);
    add("nvl_bw=", Path::kNvl, true);
    return true;
  }

  bool read_bytes(std::size_t i, std::string_view text) {
    if (!starts_with_ci(text, "Byte counts")) return false;
    sink_.claim(i);
    return true;
  }

  const Document& document_;
  Sink& sink_;
  bool open_ = false;
  Span span_ = Span::kApi;
  std::string dtype_;
  double ranks_ = 0;
  int run_ = -1;
  std::optional<Sample> current_;
};

}  // namespace

void read_ep_bench(const Document& document, Sink& sink) {
  Summary(document, sink).read();
}

}  // namespace shunt::logs
