// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// A Buffer's inside: heap, fabrics, progress threads, workers, and the sequence of operations.
// in: World, options → out: operations that run on the workers and end in their handles.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.hpp"
#include "bootstrap/world.hpp"
#include "combine/args.hpp"
#include "dispatch/args.hpp"
#include "engine/proxy_group.hpp"
#include "engine/setup.hpp"
#include "engine/workers.hpp"
#include "exec/cpu/exec.hpp"
#include "memory/heap.hpp"
#include "plan/plan.hpp"
#include "record/lane.hpp"
#include "shunt/shunt.hpp"
#include "traffic/record_layout.hpp"

namespace shunt::engine {

struct Operation;

/// What tests and the bench put in place of the defaults.
struct BufferHooks {
  MakeFabric make_fabric;                ///< Default: libfabric by the options.
  record::Recorder* recorder = nullptr;  ///< Null: recording off.
  /// Called by each block before each operation (role, block, op): tests delay ranks with it.
  std::function<void(int role, int block, std::uint64_t op)> before_operation;
  /// Runs one of `blocks` blocks of a role on an executor of its own, with `warps` warps a block.
  std::function<bool(const exec::cpu::CpuContext&, const Operation&, const Block&, int blocks)>
      run_role;
  /// Places the slots of chunks outside of the heap; `bytes` of them.
  std::function<Result<SlotMemory>(std::size_t bytes)> place_slots;
  int warps = 1;
  memory::AheadRows ahead;  ///< Rows that come ahead, on all ranks alike. Default: none.
  Cpus progress_cpus;       ///< As ProgressOptions::cpus.
};

/// Free ranges of the user part of a heap, first fit.
class HeapAllocator {
 public:
  void reset(std::size_t begin, std::size_t end);
  [[nodiscard]] Result<std::size_t> allocate(std::size_t bytes);
  /// False if nothing was allocated at `offset`.
  bool release(std::size_t offset);
  [[nodiscard]] std::size_t free_bytes() const;

 private:
  std::map<std::size_t, std::size_t> free_;  // offset → bytes
  std::map<std::size_t, std::size_t> used_;
};

/// The routing of a dispatch, planned, and what the exchange told. Shared by the handle and the
/// operations in flight.
struct HandleState {
  HandleState() = default;
  HandleState(const HandleState&) = delete;
  HandleState& operator=(const HandleState&) = delete;
  ~HandleState();  ///< Leaves the plan's memory to the next dispatch.

  std::shared_ptr<BufferState> buffer;
  plan::Plan plan;
  routing::Routing routing;  ///< Copy: replays and late workers read it.

  std::vector<std::int32_t> row_base;
  std::vector<std::int64_t> serve_begin;
  std::vector<std::int64_t> records_from;
  std::vector<std::int64_t> rows_from;
  std::unique_ptr<plan::RowRef[]> forward_rows;  ///< Uninitialised: only the used part is touched.
  std::size_t forward_count = 0;
  std::vector<std::uint32_t> pending;

  std::uint64_t first_op = 0;  ///< The dispatch that made the handle.
  std::uint64_t last_op = 0;   ///< op + 1 of the latest operation issued.
  std::int64_t capacity = 0;   ///< Of the latest dispatch's output.
  [[nodiscard]] std::int64_t total_rows() const;
};

/// One operation on its way through the workers.
struct Operation {
  enum class Kind { kDispatch, kCombine };
  Kind kind = Kind::kDispatch;
  std::uint64_t op = 0;
  std::shared_ptr<HandleState> handle;
  dispatch::DispatchArgs dispatch;
  combine::CombineArgs combine;
  DispatchOutput copy_out;             ///< Where a bounced output goes (rows null: in place).
  const std::byte* copy_in = nullptr;  ///< Combine rows that lie outside the window.
  std::vector<std::size_t> bounced;    ///< Heap ranges to free when it has ended; until issued.
};

class BufferState : public std::enable_shared_from_this<BufferState> {
 public:
  [[nodiscard]] static Result<std::shared_ptr<BufferState>> create(bootstrap::World& world,
                                                                   const BufferOptions& options,
                                                                   const BufferHooks& hooks = {});
  ~BufferState();

  [[nodiscard]] Result<void*> allocate(std::size_t bytes);
  void release(void* pointer);
  [[nodiscard]] Result<std::shared_ptr<HandleState>> dispatch(const DispatchInput& input,
                                                              const DispatchOutput& output);
  [[nodiscard]] Status replay(const std::shared_ptr<HandleState>& handle,
                              const void* rows,
                              const DispatchOutput& output);
  [[nodiscard]] Status combine(const std::shared_ptr<HandleState>& handle,
                               const CombineBuffers& buffers);
  [[nodiscard]] Status wait(const HandleState& handle);
  [[nodiscard]] Status status() const;

  [[nodiscard]] const BufferOptions& options() const { return options_; }
  [[nodiscard]] const cluster::Shape& shape() const { return view_.shape; }
  [[nodiscard]] int rank() const { return view_.rank; }
  [[nodiscard]] const traffic::RecordLayout& record_layout() const { return record_; }
  [[nodiscard]] const memory::Layout& layout() const { return view_.layout; }
  [[nodiscard]] const std::string& provider() const { return provider_; }
  [[nodiscard]] DType wire_dtype() const { return options_.wire_dtype.value_or(options_.dtype); }
  [[nodiscard]] std::uint64_t operations() const { return next_op_; }
  [[nodiscard]] const ProxyGroup& progress() const { return *progress_; }
  /// Ends workers and progress threads; idempotent.
  void close();
  /// Memory of a plan that nobody needs any more. Any thread.
  void keep(plan::Plan used) SHUNT_EXCLUDES(spare_mutex_);

 private:
  friend struct BufferBuilder;
  BufferState() = default;

  [[nodiscard]] Result<memory::Posting> place_output(const DispatchOutput& output,
                                                     Operation& operation);
  [[nodiscard]] Status issue_dispatch(const std::shared_ptr<HandleState>& handle,
                                      const void* rows,
                                      const DispatchOutput& output,
                                      bool cached);
  void fill_plan(dispatch::DispatchArgs& args, HandleState& handle) const;
  [[nodiscard]] bool in_heap(const void* pointer, std::size_t bytes) const;
  [[nodiscard]] std::size_t offset_of(const void* pointer) const;
  void issue(std::unique_ptr<Operation> operation);
  void run_block(const Operation& operation, const Block& block, exec::cpu::CpuExec& exec);
  bool run_role(const Operation& operation, const Block& block, exec::cpu::CpuExec& exec);
  void copy_out(const Operation& operation, exec::cpu::CpuExec& exec);
  void copy_in(const Operation& operation, exec::cpu::CpuExec& exec);
  /// Frees the heap ranges of operations that have ended.
  void reclaim();
  [[nodiscard]] plan::Plan take_spare_plan() SHUNT_EXCLUDES(spare_mutex_);

  BufferOptions options_;
  BufferHooks hooks_;
  exec::RankView view_;
  traffic::RecordLayout record_;
  std::uint64_t wire_stride_ = 0;
  std::string provider_;
  std::uint64_t next_op_ = 0;
  std::uint64_t history_ = 0;  // Hash of all operations issued: the same on all ranks.
  std::uint64_t exchanges_ = 0;
  struct Bounced {
    std::uint64_t op;
    std::vector<std::size_t> offsets;
  };
  std::deque<Bounced> bounced_;  // By op.
  Mutex spare_mutex_;
  plan::Plan spare_plan_ SHUNT_GUARDED_BY(spare_mutex_);

  // Order matters: memory outlives the progress threads and their fabrics, those outlive the
  // workers.
  std::unique_ptr<memory::Heap> heap_;
  HeapAllocator allocator_;
  std::vector<std::byte*> windows_;
  std::vector<std::uint64_t> words_;
  std::vector<std::uint64_t> sequences_;  // sent and received of the three kinds
  std::vector<exec::SlotNote> notes_;
  std::vector<exec::LandedNote> landed_;  ///< Where the slots lie apart.
  std::vector<std::int32_t> send_scratch_;
  std::vector<std::int32_t> receive_scratch_;
  std::vector<exec::SumTerm> terms_;
  mutable std::vector<exec::RowTarget> targets_;  ///< Scratch of blocks, one third per role.
  exec::FailureBox failure_;
  exec::cpu::CpuContext context_;
  std::vector<std::unique_ptr<exec::cpu::DescriptorRing>> rings_;  // One a progress thread.
  std::unique_ptr<ProxyGroup> progress_;
  std::unique_ptr<Workers<Operation>> workers_;
};

}  // namespace shunt::engine
