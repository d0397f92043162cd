// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// DeepEP's low-latency test, every generation, and the libraries that kept its lines (UCCL-EP,
// NIXL, Mooncake, Ascend): every rank prints, in any order.
//   "[rank 5] Dispatch + combine bandwidth: 44.18 GB/s, avg_t=… us, min_t=… us, max_t=… us"
//   "[rank 5] Dispatch bandwidth: 58.21 GB/s, avg_t=… us | Combine bandwidth: 66.90 GB/s, avg_t=…
//   us"
//   "[rank 5] Dispatch send/recv time: 21.40 + 17.92 us | Combine send/recv time: 25.73 + 20.66 us"
#include <array>

#include "logs/readers.hpp"
#include "logs/text.hpp"

namespace shunt::logs {
namespace {

constexpr std::size_t kNone = std::string_view::npos;

Operation operation_of(std::string_view label) {
  const bool dispatch = contains_ci(label, "dispatch");
  const bool combine = contains_ci(label, "combine");
  if (dispatch && combine) return Operation::kPair;
  if (dispatch) return Operation::kDispatch;
  return combine ? Operation::kCombine : Operation::kUnknown;
}

std::string dtype_of(std::string_view label) {
  for (const std::string_view name : {"nvfp4", "mxfp8", "fp8", "bf16", "logfmt"}) {
    if (contains_ci(label, name)) return std::string(name);
  }
  return {};
}

/// "Dispatch bandwidth: 58.21 GB/s, avg_t=130.17 us[, min_t=…, max_t=…]"; nullopt if cut.
std::optional<Sample> read_rate(std::string_view segment, Operation operation) {
  const auto rate = number_after(segment, "bandwidth:", "GB/s");
  const auto average = number_after(segment, "avg_t=", "us");
  if (!rate || !average) return std::nullopt;
  Sample sample;
  sample.operation = operation;
  sample.path = Path::kSelection;
  sample.span = operation == Operation::kPair ? Span::kApi : Span::kKernel;
  sample.rate_gbs = rate->value;
  sample.rate_error = rate->half_ulp();
  sample.time_us = average->value;
  const auto min = number_after(segment, "min_t=", "us");
  const auto max = number_after(segment, "max_t=", "us");
  if (min) sample.min_us = min->value;
  if (max) sample.max_us = max->value;
  if (operation == Operation::kPair && !max) return std::nullopt;
  return sample;
}

/// "Dispatch send/recv time: 21.40 + 17.92 us", "… 39.3 = 21.4 + 17.9 us", "… 2728.00 us".
std::optional<Sample> read_halves(std::string_view segment, Operation operation) {
  const std::size_t key = find_ci(segment, "time:");
  if (key == kNone || !number_before(segment, "us", key)) return std::nullopt;
  std::string_view values = segment.substr(key + 5);
  Sample sample;
  sample.operation = operation;
  sample.path = Path::kSelection;
  sample.span = Span::kKernel;
  sample.variant = "send/recv";
  if (const std::size_t equals = values.find('='); equals != kNone) {
    values.remove_prefix(equals + 1);
  }
  const auto first = number_at(values, 0);
  if (!first) return std::nullopt;
  const std::size_t plus = values.find('+');
  if (plus == kNone) {
    sample.time_us = first->value;
    return sample;
  }
  const auto second = number_after(values.substr(plus), "+", "us");
  if (!second) return std::nullopt;
  sample.send_us = first->value;
  sample.recv_us = second->value;
  sample.time_us = first->value + second->value;
  return sample;
}

/// "rank 0 nvml_device_index 0, NVSHMEM_HCA_LIST mlx5_bond_0:1"
bool read_mapping(std::string_view text, std::size_t line, Sink& sink) {
  const std::size_t list = text.find("NVSHMEM_HCA_LIST ");
  const auto rank = number_after(text, "rank ");
  if (list == kNone || !rank) return false;
  std::string_view device = trim(text.substr(list + 17));
  device = device.substr(0, device.find_first_of(": ,"));
  if (device.empty() || device.find('=') != kNone) return false;
  Mapping mapping;
  mapping.kind = "nic";
  mapping.rank = index_of(*rank);
  mapping.value = std::string(device);
  sink.add(line, std::move(mapping));
  sink.recognised("NIC per rank");
  return true;
}

}  // namespace

void read_low_latency(const Document& document, Sink& sink) {
  for (std::size_t i = 0; i < document.lines.size(); ++i) {
    const Line& line = document.lines[i];
    const std::string_view text = line.text;
    if (sink.claimed(i) || text.empty()) continue;
    if (starts_with_ci(text, "Allocating buffer size:")) {
      if (const auto size = number_after(text, "size:", "MB")) {
        sink.config(
            i, "buffer_mb", text.substr(size->begin, size->end - size->begin), Origin::kLog);
      }
      sink.claim(i);
      continue;
    }
    if (read_mapping(text, i, sink)) continue;
    const bool rates = contains_ci(text, "bandwidth:") && text.find("(RDMA)") == kNone;
    const bool halves = contains_ci(text, "send/recv time:");
    if (!(rates || halves) || operation_of(text) == Operation::kUnknown) continue;
    // Only this test's lines carry avg_t= (or are cut before it).
    if (rates && !contains_ci(text, "avg_t") && !line.last) continue;
    // A cut line is used for nothing: its other half would stand for a rank that is not complete.
    bool cut = false;
    std::vector<Sample> samples;
    for (const std::string_view segment : split(text, '|')) {
      const std::size_t colon = segment.find(':');
      const std::string_view label = segment.substr(0, colon == kNone ? segment.size() : colon);
      const Operation operation = operation_of(label);
      auto sample = halves ? read_halves(segment, operation) : read_rate(segment, operation);
      if (operation == Operation::kUnknown || !sample) {
        cut = true;
        continue;
      }
      sample->format = "deepep-low-latency";
      sample->dtype = dtype_of(label);
      sample->group = heading_of(document, i);
      samples.push_back(std::move(*sample));
    }
    sink.recognised("DeepEP low-latency");
    if (cut) {
      sink.truncated(i, "low-latency line");
    } else {
      for (Sample& sample : samples) sink.add(i, std::move(sample));
    }
  }
}

}  // namespace shunt::logs
