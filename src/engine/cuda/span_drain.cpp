// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/cuda/span_drain.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "engine/cuda/clock_kernel.hpp"

namespace shunt::engine::cuda {
namespace {

using memory::cuda::check;

constexpr std::uint64_t kPatience_ns = 2'000'000'000;
/// Between two measurements: a clock of 10 parts in a million moves by 5 µs meanwhile.
constexpr std::uint64_t kMeasureAgain_ns = 500'000'000;

}  // namespace

Status DeviceClock::measure(cudaStream_t stream) {
  if (page_.host() == nullptr) {
    auto page = memory::cuda::PinnedMemory::create(sizeof(ClockPage));
    if (!page) return Unexpected(std::move(page).error());
    page_ = std::move(*page);
  }
  auto& page = *reinterpret_cast<ClockPage*>(page_.host());
  page = {};
  SHUNT_TRY(
      check(launch_clock(reinterpret_cast<ClockPage*>(page_.device()), kAsks, kPatience_ns, stream),
            "asking the device for its time"));
  Sample best;
  std::uint64_t best_trip = ~std::uint64_t{0};
  const Deadline deadline = Deadline::after_ns(kPatience_ns);
  std::atomic_ref<std::uint64_t> asked(page.asked);
  std::atomic_ref<std::uint64_t> answered(page.answered);
  for (std::uint64_t ask = 1; ask <= kAsks && !deadline.expired(); ++ask) {
    const std::uint64_t begin = now_ns();
    asked.store(ask, std::memory_order_release);
    while (answered.load(std::memory_order_acquire) < ask && !deadline.expired()) {
    }
    const std::uint64_t end = now_ns();
    // The first answer may be that of a kernel that was not there yet.
    if (ask == 1 || end - begin >= best_trip) continue;
    best_trip = end - begin;
    const std::uint64_t middle = begin + best_trip / 2;
    best = {page.time, middle, static_cast<std::int64_t>(middle - page.time)};
  }
  SHUNT_TRY(check(cudaStreamSynchronize(stream), "asking the device for its time"));
  if (answered.load(std::memory_order_acquire) < kAsks) {
    return fail(ErrorCode::kTimeout,
                ErrorScope::kDevice,
                "the device did not tell its time within 2 s: the stream has other work, or the "
                "device no room for a block");
  }
  old_ = new_.host_ns == 0 ? best : new_;
  new_ = best;
  step_ns_ = page.step;
  error_ns_ = best_trip / 2;
  offset_.store(best.offset_ns, std::memory_order_relaxed);
  return {};
}

std::uint64_t DeviceClock::to_host(std::uint64_t device_ns) const {
  double offset = static_cast<double>(new_.offset_ns - old_.offset_ns);
  if (new_.device_ns > old_.device_ns) {
    offset *= (static_cast<double>(device_ns) - static_cast<double>(old_.device_ns)) /
              static_cast<double>(new_.device_ns - old_.device_ns);
  }
  return device_ns + static_cast<std::uint64_t>(old_.offset_ns + static_cast<std::int64_t>(offset));
}

Status SpanDrain::create(record::Recorder& recorder, int blocks) {
  const auto count = static_cast<std::size_t>(blocks);
  const std::size_t spans = count * kCapacity * sizeof(record::Span);
  auto memory = memory::cuda::DeviceMemory::create(spans + count * sizeof(std::uint32_t));
  if (!memory) return Unexpected(std::move(memory).error());
  memory_ = std::move(*memory);
  rings_.spans = reinterpret_cast<record::Span*>(memory_.data());
  rings_.written = reinterpret_cast<std::uint32_t*>(memory_.data() + spans);
  rings_.capacity = kCapacity;
  for (int b = 0; b < blocks; ++b) lanes_.push_back(recorder.add_lane());
  written_.resize(count);
  return {};
}

Status SpanDrain::drain(cudaStream_t stream) {
  if (now_ns() - clock_.measured_ns() > kMeasureAgain_ns) SHUNT_TRY(clock_.measure(stream));
  const std::size_t bytes = written_.size() * sizeof(std::uint32_t);
  SHUNT_TRY(check(cudaMemcpy(written_.data(), rings_.written, bytes, cudaMemcpyDeviceToHost),
                  "reading the device's spans"));
  for (std::size_t b = 0; b < written_.size(); ++b) {
    const std::uint32_t kept = std::min(written_[b], kCapacity);
    dropped_ += written_[b] - kept;
    spans_.resize(kept);
    if (kept == 0) continue;
    SHUNT_TRY(check(cudaMemcpy(spans_.data(),
                               rings_.spans + b * kCapacity,
                               kept * sizeof(record::Span),
                               cudaMemcpyDeviceToHost),
                    "reading the device's spans"));
    for (record::Span& span : spans_) {
      span.begin_ns = clock_.to_host(span.begin_ns);
      span.end_ns = clock_.to_host(span.end_ns);
      lanes_[b]->push(span);
    }
  }
  return check(cudaMemset(rings_.written, 0, bytes), "emptying the device's spans");
}

}  // namespace shunt::engine::cuda
