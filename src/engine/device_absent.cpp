// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// device.hpp in a build without device code: creation says so, and nothing else can be reached.
#include "base/error.hpp"
#include "shunt/device.hpp"

namespace shunt {

struct DeviceHandle::State {};
struct DeviceBuffer::State {};

namespace {
Unexpected absent() {
  return fail(ErrorCode::kUnsupported,
              ErrorScope::kUsage,
              "this build has no device code; configure with -DSHUNT_WITH_CUDA=ON and nvcc");
}
}  // namespace

DeviceHandle::DeviceHandle(std::unique_ptr<State> state) : state_(std::move(state)) {}
DeviceHandle::DeviceHandle(DeviceHandle&&) noexcept = default;
DeviceHandle& DeviceHandle::operator=(DeviceHandle&&) noexcept = default;
DeviceHandle::~DeviceHandle() = default;

DeviceBuffer::DeviceBuffer(std::unique_ptr<State> state) : state_(std::move(state)) {}
DeviceBuffer::DeviceBuffer(DeviceBuffer&&) noexcept = default;
DeviceBuffer& DeviceBuffer::operator=(DeviceBuffer&&) noexcept = default;
DeviceBuffer::~DeviceBuffer() = default;

Status DeviceBuffer::available() {
  return absent();
}
Result<DeviceBuffer> DeviceBuffer::create(World& /*world*/,
                                          const BufferOptions& /*options*/,
                                          const DeviceOptions& /*device*/) {
  return absent();
}
Result<void*> DeviceBuffer::allocate(std::size_t /*bytes*/) {
  return absent();
}
void DeviceBuffer::release(void* /*pointer*/) {}
Result<DeviceHandle> DeviceBuffer::plan(const DeviceRouting& /*routing*/) {
  return absent();
}
Result<DeviceHandle> DeviceBuffer::make_handle(std::int64_t /*max_tokens*/) {
  return absent();
}
Status DeviceBuffer::plan_on_device(DeviceHandle& /*handle*/,
                                    const DeviceRouting& /*routing*/,
                                    DeviceStream /*stream*/) {
  return absent();
}
Status DeviceBuffer::dispatch(DeviceHandle& /*handle*/,
                              const void* /*rows*/,
                              const DispatchOutput& /*output*/,
                              DeviceStream /*stream*/) {
  return absent();
}
Status DeviceBuffer::combine(DeviceHandle& /*handle*/,
                             const CombineBuffers& /*buffers*/,
                             DeviceStream /*stream*/) {
  return absent();
}
Status DeviceBuffer::wait(DeviceStream /*stream*/) {
  return absent();
}
Status DeviceBuffer::wait_event(DeviceEvent /*event*/) {
  return absent();
}
Result<bool> DeviceBuffer::query(DeviceStream /*stream*/) const {
  return absent();
}
Result<bool> DeviceBuffer::query_event(DeviceEvent /*event*/) const {
  return absent();
}
Status DeviceBuffer::status() const {
  return absent();
}
Result<Received> DeviceBuffer::received(const DeviceHandle& /*handle*/) const {
  return absent();
}
std::string DeviceBuffer::provider() const {
  return {};
}
std::string DeviceBuffer::staging() const {
  return {};
}

}  // namespace shunt
