// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/bounce_fabric.hpp"

#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "fabric/signal.hpp"
#include "memory/cuda/device.hpp"

namespace shunt::bench::gpu {
namespace {

using fabric::Event;
using fabric::Put;
using fabric::Region;
using memory::cuda::check;

class BounceFabric final : public fabric::Fabric {
 public:
  BounceFabric(std::unique_ptr<Fabric> inner, const memory::Layout& layout, int device)
      : inner_(std::move(inner)), layout_(layout), device_(device) {}
  ~BounceFabric() override {
    inner_.reset();
    if (stream_ != nullptr) (void)cudaStreamDestroy(stream_);
  }

  Status expose_regions(std::span<const Region> regions) override {
    if (regions.size() != 2 || regions[1].kind != Region::Kind::kCudaDevice) {
      return usage_error("a bounce takes a region of the host and one of the device");
    }
    SHUNT_TRY(check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream"));
    border_ = regions[0].bytes.size();
    slots_ = regions[1].bytes;
    auto bounce = memory::cuda::PinnedMemory::create(slots_.size());
    if (!bounce) return Unexpected(std::move(bounce).error());
    bounce_ = std::move(*bounce);
    // What the driver makes at a stream's first copies would wait for kernels that run, and they
    // for the copies.
    copy(bounce_.host(), slots_.data(), slots_.size(), cudaMemcpyDeviceToHost);
    copy(slots_.data(), bounce_.host(), slots_.size(), cudaMemcpyHostToDevice);
    finish();
    if (broken_) return Unexpected(last_error_);
    const Region own[] = {regions[0], {{bounce_.host(), slots_.size()}}};
    return inner_->expose_regions(own);
  }
  Result<std::vector<std::byte>> address() const override { return inner_->address(); }
  Status connect(std::span<const std::vector<std::byte>> peers) override {
    return inner_->connect(peers);
  }
  std::size_t post(std::span<const Put> puts) override {
    bool any = false;
    for (const Put& put : puts) {
      if (put.bytes == 0 || put.source_offset < border_) continue;
      const std::size_t at = put.source_offset - border_;
      copy(bounce_.host() + at, slots_.data() + at, put.bytes, cudaMemcpyDeviceToHost);
      any = true;
    }
    if (any) finish();
    return inner_->post(puts);
  }
  std::size_t poll(std::span<Event> events) override {
    const std::size_t count = inner_->poll(events);
    bool any = false;
    for (const Event& event : events.first(count)) {
      if (event.kind == Event::Kind::kArrived) any |= bring_in(fabric::decode(event.immediate));
      if (event.kind == Event::Kind::kFailed) last_error_ = inner_->last_error();
    }
    if (any) finish();
    if (!broken_ || told_ || events.empty()) return count;
    // In place of what could not be brought in: the operation ends here.
    told_ = true;
    events[0] = {fabric::kNoContext, 0, 0, -1, Event::Kind::kFailed};
    return 1;
  }
  void wait(std::uint64_t timeout_ns) override { inner_->wait(timeout_ns); }
  void wake() override { inner_->wake(); }
  Error last_error() const override { return last_error_; }
  std::string provider() const override { return inner_->provider() + " through a bounce"; }
  std::size_t depth() const override { return inner_->depth(); }

 private:
  /// The whole slot of a chunk that has arrived.
  bool bring_in(const fabric::Signal& signal) {
    const int kind = static_cast<int>(signal.kind);
    if (!memory::Layout::holds_chunks(kind)) return false;
    const std::size_t bytes = layout_.slot_bytes[kind];
    const std::size_t at = layout_.landing[kind] + signal.slot * bytes - layout_.slots_begin;
    copy(slots_.data() + at, bounce_.host() + at, bytes, cudaMemcpyHostToDevice);
    return true;
  }
  void copy(std::byte* to, const std::byte* from, std::size_t bytes, cudaMemcpyKind kind) {
    // The progress thread begins without a device.
    keep(check(cudaSetDevice(device_), "opening the device to copy"));
    keep(check(cudaMemcpyAsync(to, from, bytes, kind, stream_), "copying a chunk"));
  }
  void finish() { keep(check(cudaStreamSynchronize(stream_), "copying chunks")); }
  void keep(const Status& status) {
    if (status || broken_) return;
    broken_ = true;
    last_error_ = status.error();
  }

  std::unique_ptr<Fabric> inner_;
  const memory::Layout layout_;
  const int device_;
  cudaStream_t stream_ = nullptr;
  std::size_t border_ = 0;
  std::span<std::byte> slots_;
  memory::cuda::PinnedMemory bounce_;
  Error last_error_;
  bool broken_ = false;
  bool told_ = false;
};

}  // namespace

Result<std::unique_ptr<fabric::Fabric>> bounce(std::unique_ptr<fabric::Fabric> inner,
                                               const memory::Layout& layout) {
  int device = 0;
  SHUNT_TRY(check(cudaGetDevice(&device), "asking for the current device"));
  return std::unique_ptr<fabric::Fabric>(
      std::make_unique<BounceFabric>(std::move(inner), layout, device));
}

}  // namespace shunt::bench::gpu
