// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// A Buffer on CUDA devices. in: World, options → out: dispatch and combine as one launch each on
// the caller's stream. Between nodes, records go through pinned host memory, or memory of the
// device where the fabric reaches it (staging.hpp): blocks fill it and post descriptors,
// progress threads put them on the fabric.
//
// A plan is made once for a routing, on the host and copied to the device, and then serves any
// number of operations; or it is made on the device from ids that lie there, without the host. All
// ranks issue the same sequence of operations, each rank on one stream (or on streams that it
// orders itself). No operation waits for the host.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <cuda_runtime_api.h>

#include "base/fd.hpp"
#include "bootstrap/world.hpp"
#include "engine/buffer_state.hpp"
#include "engine/cuda/kernels.hpp"
#include "engine/cuda/span_drain.hpp"
#include "engine/staging.hpp"
#include "memory/cuda/device.hpp"
#include "plan/pieces.hpp"
#include "plan/plan.hpp"
#include "routing/routing.hpp"
#include "shunt/device.hpp"
#include "shunt/shunt.hpp"

namespace shunt::engine::cuda {

/// A routing, planned, on the device. Created by Buffer::plan, or by Buffer::make_handle and then
/// planned there; lives as long as its operations run.
class Handle {
 public:
  /// As made on the host. What was planned on the device has no lists here: Buffer::read_plan.
  [[nodiscard]] const plan::Plan& plan() const { return plan_; }

 private:
  friend class Buffer;
  plan::Plan plan_;
  memory::cuda::DeviceMemory memory_;
  dispatch::DispatchArgs dispatch_;  ///< Everything but rows and output.
  combine::CombineArgs combine_;     ///< Everything but input and output.
  plan::PlanArrays arrays_;
  plan::PieceArgs pieces_;        ///< Of a plan that is made on the device.
  std::int64_t max_tokens_ = -1;  ///< Of such a plan; −1: planned on the host.
  bool planned_ = false;
  std::int64_t capacity_ = 0;  ///< Of the latest dispatch's output.
  bool counted_ = false;       ///< A dispatch has exchanged counts.
};

/// What the bench and tests put in place of the defaults.
struct Hooks {
  MakeFabric make_fabric;                ///< Default: libfabric by the options.
  record::Recorder* recorder = nullptr;  ///< Null: recording off.
  bool near_cpus = true;                 ///< As DeviceOptions::near_cpus.
  HeapKind heap = HeapKind::kAllocated;  ///< As DeviceOptions::heap.
  Staging staging = Staging::kAuto;      ///< As DeviceOptions::staging.
  bool peer_atomics = true;              ///< False: as where atomics do not reach other devices.
  /// Which rows of combine come ahead, on all ranks alike. Default: choose_ahead().
  std::optional<memory::AheadRows> ahead;
  /// What `make_fabric` makes of memory of the device, in place of what libfabric is asked.
  std::optional<fabric::DeviceMemoryAnswers> answers;
};

/// kUnsupported where there is no device, with what CUDA says about it.
[[nodiscard]] Status check_device();

class Buffer {
 public:
  /// Collective; the calling thread's current device is the rank's. `geometry.blocks` blocks run
  /// each operation; the blocks of all ranks of a device must be resident at once, which is
  /// checked.
  [[nodiscard]] static Result<std::unique_ptr<Buffer>> create(bootstrap::World& world,
                                                              const BufferOptions& options,
                                                              const Geometry& geometry = {},
                                                              const Hooks& hooks = {});
  /// REQUIRES: all ranks have ended their operations (a barrier stands before).
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  /// Device memory of the heap, 256-byte aligned.
  [[nodiscard]] Result<void*> allocate(std::size_t bytes);
  void release(void* pointer);

  /// `routing` lies in host memory and may go afterwards.
  [[nodiscard]] Result<std::unique_ptr<Handle>> plan(const routing::RoutingView& routing);
  /// Room for routings of at most `max_tokens` tokens of this rank, to be planned on the device.
  [[nodiscard]] Result<std::unique_ptr<Handle>> make_handle(std::int64_t max_tokens);
  /// Plans on the stream, in place of what the handle held: no memory is taken and nothing waits
  /// for the host, so that a graph may capture it together with the operations behind it. Ids and
  /// weights lie in device memory and stay as they are until those have ended. All ranks plan
  /// before the same dispatch, which then exchanges counts. An id that is not allowed ends the
  /// operations; the error names it.
  [[nodiscard]] Status plan_on_device(Handle& handle,
                                      const routing::RoutingView& routing,
                                      cudaStream_t stream);
  /// The plan as the device has it, to look at. REQUIRES: the planning has been waited for.
  [[nodiscard]] Result<plan::Plan> read_plan(const Handle& handle) const;

  /// The first dispatch of a handle exchanges counts; all ranks agree on which it is. `rows` is
  /// device memory [tokens][hidden], 16-byte aligned; the arrays of `output` come from allocate().
  [[nodiscard]] Status dispatch(Handle& handle,
                                const void* rows,
                                const DispatchOutput& output,
                                cudaStream_t stream);
  /// `buffers.rows` comes from allocate() and is read in place; the output is any device memory.
  [[nodiscard]] Status combine(Handle& handle, const CombineBuffers& buffers, cudaStream_t stream);

  /// Waits for the stream; the first failure of any operation, if there was one. Recorded spans go
  /// to the recorder here.
  [[nodiscard]] Status wait(cudaStream_t stream);
  /// The first failure seen so far.
  [[nodiscard]] Status status() const;
  /// Rows received from each rank, overflow included. REQUIRES: the dispatch has been waited for.
  [[nodiscard]] Result<std::vector<std::int64_t>> rows_from(const Handle& handle) const;

  [[nodiscard]] const cluster::Shape& shape() const { return context_.rank.shape; }
  [[nodiscard]] int rank() const { return context_.rank.rank; }
  [[nodiscard]] const memory::Heap& heap() const { return *heap_; }
  /// What carries data between nodes; empty in a world of one.
  [[nodiscard]] const std::string& provider() const { return provider_; }
  /// Where records lie between nodes, and why; empty in a world of one.
  [[nodiscard]] const std::string& staging() const { return staging_; }
  /// Null while recording is off.
  [[nodiscard]] const SpanDrain* spans() const { return spans_.get(); }
  /// REQUIRES: recording is on.
  [[nodiscard]] const DeviceClock& clock() const { return spans_->clock(); }
  [[nodiscard]] const ProxyGroup& progress() const { return *progress_; }
  /// Ends the progress threads; no operation after it. Idempotent. Requires what destruction does.
  void close();

 private:
  struct HostPart;

  Buffer() = default;
  [[nodiscard]] Status build(bootstrap::World& world);
  [[nodiscard]] Status take_device_words();
  /// Chooses where the slots of chunks lie, and takes memory of the device for them.
  [[nodiscard]] Status place_slots();
  [[nodiscard]] Result<StagingFacts> ask_about_staging();
  [[nodiscard]] Status take_host_part();
  [[nodiscard]] fabric::Region slot_region(int device) const;
  /// What the fabric is to reach. REQUIRES: the host's part.
  [[nodiscard]] Result<std::vector<fabric::Region>> regions() const;
  [[nodiscard]] Status take_heaps(bootstrap::World& world);
  [[nodiscard]] Status start_progress(bootstrap::World& world);
  [[nodiscard]] std::vector<ProxyPart> make_parts(Fabrics fabrics) const;
  /// `device`: of the slots of chunks.
  [[nodiscard]] ProgressOptions progress_options(int device) const;
  [[nodiscard]] AlarmOptions alarm_options();
  /// The PCI address of the current device, as CUDA writes it.
  [[nodiscard]] static Status read_bus(std::span<char> to);
  /// Learns which ranks share a device, and how many blocks each launches.
  [[nodiscard]] Status meet_residents(bootstrap::World& world);
  [[nodiscard]] memory::AheadRows choose_ahead() const;
  [[nodiscard]] static bool atomics_reach(const char* bus);
  /// Where the progress threads run; empty: anywhere.
  [[nodiscard]] Cpus progress_cpus() const;
  [[nodiscard]] Status start_recording();
  /// Before a launch: the progress threads have to be awake.
  void announce(cudaStream_t stream);
  /// What the device has reported becomes this rank's failure.
  void report_own_failure() const;
  void absorb_device_failure() const;
  [[nodiscard]] Error describe_device_failure(exec::cuda::FailureRecord::Kind kind) const;
  /// Whether a rank may plan for so many.
  [[nodiscard]] Status check_tokens(std::int64_t tokens) const;
  /// Sets what operations need of a plan; its ids and weights are the caller's to set.
  void bind(Handle& handle, const plan::PlanArrays& arrays, const dispatch::HandleMaps& maps) const;
  [[nodiscard]] exec::cuda::Context context_for(std::int64_t tokens) const;
  /// Checks that the blocks of all ranks on this device fit, and sizes their shared memory.
  [[nodiscard]] Status fit(bootstrap::World& world);
  [[nodiscard]] Status place(const void* pointer,
                             std::size_t bytes,
                             const char* name,
                             std::uint64_t* offset) const;

  BufferOptions options_;
  Geometry geometry_;
  Hooks hooks_;
  traffic::RecordLayout record_;
  std::uint64_t wire_stride_ = 0;
  std::string provider_;
  StagingChoice choice_;
  std::string staging_;
  struct Resident {
    char bus[32] = {};  ///< The PCI address of its device, as CUDA writes it.
    std::int32_t blocks = 0;
    std::int32_t warps = 0;  ///< Of all of them.
  };
  std::vector<Resident> residents_;  ///< [world]
  exec::cuda::Context context_;
  exec::RankView host_view_;  ///< The same rank as its progress threads reach it.
  exec::PackedDescriptor* ring_entries_ = nullptr;  ///< Context::rings, as the host reaches them.
  exec::cuda::HeadWord* ring_heads_ = nullptr;
  std::int32_t* send_scratch_ = nullptr;
  std::int32_t* receive_scratch_ = nullptr;

  // Order matters: memory outlives the progress threads and their fabrics.
  std::unique_ptr<memory::Heap> heap_;
  std::unique_ptr<memory::Heap> controls_;  ///< Control lines of the node, in memory of the host.
  std::vector<std::byte*> control_windows_;
  HeapAllocator allocator_;
  memory::cuda::DeviceMemory words_;
  memory::cuda::PinnedMemory pinned_;
  memory::cuda::DeviceMemory slots_;  ///< Of chunks, where they lie on the device.
  UniqueFd slots_dmabuf_;
  std::unique_ptr<SpanDrain> spans_;
  exec::cuda::FailureRecord* failure_ = nullptr;  ///< The host's address, as those below.
  std::uint64_t* host_abort_ = nullptr;
  std::uint64_t* ended_ = nullptr;
  cudaEvent_t waited_ = nullptr;            ///< Of worlds of several nodes.
  std::atomic<std::uint64_t> launched_{0};  ///< Operations, replays of captured graphs left out.
  mutable exec::FailureBox failures_;
  std::unique_ptr<ProxyGroup> progress_;
};

}  // namespace shunt::engine::cuda
