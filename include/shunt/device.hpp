// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Dispatch and combine on CUDA devices: one kernel an operation, on the caller's stream. Rows,
// outputs and sums are device memory, raw or a framework's; no framework and no CUDA header is
// needed to include this. Order it against other work by streams and events, as any kernel.
//
//   cudaSetDevice(local_rank);
//   auto buffer = shunt::DeviceBuffer::create(world, {.ranks_per_node = 8, …});
//   auto handle = buffer->plan({.tokens = n, .ids = ids, .weights = w});   // host memory
//   buffer->dispatch(*handle, x, output, stream);      // output from buffer->allocate()
//   …the experts compute, on the same stream…
//   buffer->combine(*handle, {.rows = y, .output = sums}, stream);
//   buffer->wait(stream);
//
// Contract: that of shunt.hpp; and operations of one Buffer are issued to one stream, or to streams
// that the caller orders. A launch may be captured into a CUDA graph and replayed once its handle
// has been dispatched before, since the first dispatch exchanges counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "shunt/result.hpp"
#include "shunt/shunt.hpp"

namespace shunt {

/// A cudaStream_t; null is the default stream.
using DeviceStream = void*;
/// A cudaEvent_t that has been recorded.
using DeviceEvent = void*;

/// What the heap is made of. kAllocated: cudaMalloc, mapped by node peers through CUDA IPC.
/// kVirtual: the driver's virtual-memory interface, by descriptors; what tools that forbid CUDA IPC
/// allow.
enum class HeapKind : std::int32_t { kAllocated, kVirtual };

/// Where records lie on their way between nodes. kAuto: in memory of the device, registered with
/// the fabric, where device and provider promise that the NIC reaches it without copies; else in
/// pinned memory of the host. kDevice: creation fails, with the reason, where that cannot be.
/// DeviceBuffer::staging() says what was chosen, and why.
enum class Staging : std::int32_t { kAuto, kHost, kDevice };

/// How operations are laid out on the device. The blocks of all ranks on one device must be
/// resident at once, which creation checks.
struct DeviceOptions {
  int sms = 16;       ///< Blocks an operation: multiprocessors it occupies.
  int warps = 16;     ///< Per block, 1 … 32.
  int row_warps = 0;  ///< Warps that share a row; 0: chosen by the number of tokens.
  int rdma_blocks =
      2;  ///< Of the blocks, those that send to other nodes, and as many that receive.
  HeapKind heap = HeapKind::kAllocated;  ///< All ranks alike.
  Staging staging = Staging::kAuto;      ///< Each rank's own. Matters between nodes only.
  bool near_cpus = true;  ///< Progress threads stay on the CPUs near the device, of those that
                          ///< the calling thread may use; not where fewer than two are, or the
                          ///< machine does not say. Off: anywhere. Matters between nodes only.
};

/// What a plan is made from: for plan() host memory, not needed afterwards; for plan_on_device()
/// device memory that stays as it is until the operations of the handle have ended.
struct DeviceRouting {
  std::int64_t tokens = 0;
  const std::int32_t* ids = nullptr;  ///< [tokens][topk]: experts, −1 = none.
  const float* weights = nullptr;     ///< [tokens][topk]; null if BufferOptions::weights is off.
};

/// A planned routing on the device. Outlives the operations that use it.
class DeviceHandle {
 public:
  DeviceHandle(DeviceHandle&&) noexcept;
  DeviceHandle& operator=(DeviceHandle&&) noexcept;
  ~DeviceHandle();

 private:
  friend class DeviceBuffer;
  struct State;
  explicit DeviceHandle(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Memory, connections and progress threads of one rank on one device. Created and destroyed by
/// all ranks together, a barrier before destruction.
class DeviceBuffer {
 public:
  /// Whether a DeviceBuffer can be tried: kUnsupported in a build without device code and on a
  /// machine without a device, with a message that says which. Local call.
  [[nodiscard]] static Status available();
  /// Collective; on the calling thread's current device. BufferOptions::blocks and rdma_blocks are
  /// those of `device`. Errors: those of Buffer::create; blocks that do not fit; those of
  /// available().
  [[nodiscard]] static Result<DeviceBuffer> create(World& world,
                                                   const BufferOptions& options,
                                                   const DeviceOptions& device = {});
  DeviceBuffer(DeviceBuffer&&) noexcept;
  DeviceBuffer& operator=(DeviceBuffer&&) noexcept;
  ~DeviceBuffer();

  /// Device memory that node peers write and read in place. Local call.
  [[nodiscard]] Result<void*> allocate(std::size_t bytes);
  void release(void* pointer);

  /// Plans on the host and copies the plan to the device.
  [[nodiscard]] Result<DeviceHandle> plan(const DeviceRouting& routing);
  /// Room for routings of at most `max_tokens` tokens of this rank, to be planned on the device.
  [[nodiscard]] Result<DeviceHandle> make_handle(std::int64_t max_tokens);
  /// Plans on the stream, in place of what the handle held; nothing waits for the host and no
  /// memory is taken, so that a graph may capture it together with the operations behind it. All
  /// ranks plan before the same dispatch, which then exchanges counts. An id that is not allowed
  /// ends the operations; wait() names its token and slot.
  [[nodiscard]] Status plan_on_device(DeviceHandle& handle,
                                      const DeviceRouting& routing,
                                      DeviceStream stream);
  /// `rows`: [tokens][hidden], 16-byte aligned. The arrays of `output` come from allocate(). The
  /// first dispatch of a handle exchanges counts; later ones replay the routing.
  [[nodiscard]] Status dispatch(DeviceHandle& handle,
                                const void* rows,
                                const DispatchOutput& output,
                                DeviceStream stream);
  /// `buffers.rows` comes from allocate() and is read in place; the output is any device memory.
  [[nodiscard]] Status combine(DeviceHandle& handle,
                               const CombineBuffers& buffers,
                               DeviceStream stream);

  /// Waits for the stream; the first failure of any operation, if there was one.
  [[nodiscard]] Status wait(DeviceStream stream);
  /// Waits up to the event, however much the stream holds behind it; then as wait().
  [[nodiscard]] Status wait_event(DeviceEvent event);
  /// Whether the stream's work, or that up to the event, has ended; a failure that has been seen at
  /// once. Waits for nothing. REQUIRES: the stream is not being captured.
  [[nodiscard]] Result<bool> query(DeviceStream stream) const;
  [[nodiscard]] Result<bool> query_event(DeviceEvent event) const;
  /// The first failure seen so far, without waiting.
  [[nodiscard]] Status status() const;
  /// REQUIRES: the handle's dispatch has been waited for.
  [[nodiscard]] Result<Received> received(const DeviceHandle& handle) const;
  /// As Buffer::provider().
  [[nodiscard]] std::string provider() const;
  /// "pinned host memory (provider tcp has no FI_HMEM for CUDA)"; empty with one node.
  [[nodiscard]] std::string staging() const;

 private:
  struct State;
  explicit DeviceBuffer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace shunt
