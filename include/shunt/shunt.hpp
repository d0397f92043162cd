// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Expert-parallel dispatch and combine. A World says who takes part; a Buffer, created by all ranks
// together, holds the memory and the connections; dispatch() sends each token's row to the ranks
// that host its experts, combine() brings the sums back.
//
//   auto buffer = shunt::Buffer::create(world, {.ranks_per_node = 8, .experts = 256, .topk = 8,
//                                               .hidden = 7168, .max_tokens = 4096});
//   auto handle = buffer->dispatch({.rows = x, .tokens = n, .ids = ids, .weights = w}, output);
//   handle->wait();                      // output holds handle->received().rows rows
//   …the experts compute…
//   buffer->combine(*handle, {.rows = y, .output = sums});
//   handle->wait();
//
// Contract: all ranks issue the same sequence of operations on the same handles of a Buffer; each
// dispatch that exchanges counts compares all operations before it, and names the rank that
// differs. Capacities, token counts and pointers are each rank's own. Calls on one Buffer and its
// handles come from one thread at a time. Nothing here throws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "shunt/result.hpp"
#include "shunt/types.hpp"

namespace shunt {

namespace bootstrap {
class World;
}
namespace engine {
class BufferState;
struct HandleState;
}  // namespace engine

/// Who takes part: rank and size, and how ranks meet before they can communicate.
class World {
 public:
  /// Gathers `bytes` bytes from every rank, in rank order, into `all` (bytes · size). Returns 0 on
  /// success. torch.distributed.all_gather, MPI_Allgather and the like fit.
  using AllGather = std::function<int(const void* mine, std::size_t bytes, void* all)>;

  /// A world of one rank.
  [[nodiscard]] static Result<World> single();
  /// Ranks that can already reach each other through `all_gather`.
  [[nodiscard]] static Result<World> from_all_gather(int rank, int size, AllGather all_gather);
  /// Runs `ranks` threads of this process as ranks; returns the first failure.
  [[nodiscard]] static Status run_threads(int ranks,
                                          const std::function<Status(World&)>& rank_main);

  World(World&&) noexcept;
  World& operator=(World&&) noexcept;
  ~World();

  [[nodiscard]] int rank() const;
  [[nodiscard]] int size() const;
  [[nodiscard]] Status barrier();

  /// Of the library's other parts.
  [[nodiscard]] bootstrap::World& impl() { return *impl_; }
  explicit World(std::unique_ptr<bootstrap::World> impl);

 private:
  explicit World(bootstrap::World& borrowed);
  std::unique_ptr<bootstrap::World> owned_;
  bootstrap::World* impl_ = nullptr;
};

/// Everything that all ranks must agree on (compared at creation), and how this rank runs it.
struct BufferOptions {
  int ranks_per_node = 1;   ///< Ranks that reach each other's memory; divides the world.
  int experts = 1;          ///< Of the world; expert e lives on rank e / (experts / world).
  int topk = 1;             ///< Slots per token, ≥ 1.
  std::int64_t hidden = 0;  ///< Elements per row; hidden · size_of(dtype) a multiple of 16 bytes.
  DType dtype = DType::kBF16;       ///< Of rows, in and out.
  std::optional<DType> wire_dtype;  ///< Of combine's partial sums; default: dtype.
  std::int64_t max_tokens = 0;      ///< Most tokens of any rank in one dispatch.
  bool weights = true;              ///< Whether weights travel beside the rows.
  int chunk_tokens = 64;            ///< Records per put, ≥ 1.
  int credits = 8;                  ///< Landing slots per source and direction, ≥ 1.
  int qps = 1;                      ///< Queue pairs per peer for data, 1 … 256.
  int proxy_threads = 1;  ///< Progress threads of each rank, 1 … 64: they share the other
                          ///< nodes between them, so no more run than there are.
  int rdma_blocks = 1;    ///< Blocks (CPU: threads) that send, and as many that receive.
  int blocks = 1;         ///< Blocks that work inside the node.
  std::size_t heap_bytes = std::size_t{256} << 20;  ///< For allocate(), per rank.
  std::string provider;                             ///< libfabric provider; empty: tcp.
  std::string bind_address;  ///< Of this rank's NIC, where the provider names ranks by address.
  /// This rank's NICs, where it has a choice or several: device names of the provider ("mlx5_0",
  /// "eth0") or addresses of interfaces. Queue pair q runs on NIC q mod n and reaches NIC q mod n
  /// of its peers: the same number on all ranks, and qps at least as many. Empty: one, as
  /// bind_address says.
  std::vector<std::string> nics;
  std::uint64_t deadline_ns = 30'000'000'000;  ///< Of every single wait.
  std::uint64_t heartbeat_ns = 1'000'000'000;  ///< Silence after which a rank counts as lost.
};

/// Input of a dispatch: this rank's tokens. Borrowed until Handle::wait() returns.
struct DispatchInput {
  const void* rows = nullptr;         ///< [tokens][hidden] of dtype.
  std::int64_t tokens = 0;            ///< 0 … max_tokens; ranks may differ.
  const std::int32_t* ids = nullptr;  ///< [tokens][topk]: experts, −1 = none.
  const float* weights = nullptr;     ///< [tokens][topk]; null if BufferOptions::weights is off.
};

/// Where a received row comes from.
struct RowOrigin {
  std::int32_t rank = -1;
  std::int32_t token = -1;
};

/// Output of a dispatch: one row per (token, this rank), ordered by (source rank, token). Memory
/// from Buffer::allocate() is written in place; any other is filled by a copy at the end. Null
/// arrays other than `rows` are left out.
struct DispatchOutput {
  void* rows = nullptr;          ///< [capacity][hidden] of dtype.
  std::int32_t* ids = nullptr;   ///< [capacity][topk]: local experts, −1 for other ranks' slots.
  float* weights = nullptr;      ///< [capacity][topk]: 0 for other ranks' slots.
  RowOrigin* origins = nullptr;  ///< [capacity]
  std::int64_t capacity = 0;     ///< Rows. Rows that do not fit are dropped from the end and
                                 ///< reported by Received::overflow; combine leaves them out.
};

/// What a finished dispatch has delivered to this rank.
struct Received {
  std::int64_t rows = 0;                ///< Rows in the output: at most its capacity.
  std::int64_t overflow = 0;            ///< Rows that did not fit.
  std::vector<std::int64_t> rows_from;  ///< By source rank, overflow included.
};

/// Input and output of a combine, in the rank-major order of its dispatch.
struct CombineBuffers {
  const void* rows = nullptr;  ///< [received rows][hidden] of dtype: the experts' outputs, weights
                               ///< applied. Read in place if from Buffer::allocate().
  void* output = nullptr;  ///< [tokens][hidden] of dtype: sums; zeros for tokens without expert.
                           ///< Fastest where rows begin at multiples of 64 bytes.
};

/// A routing that has been dispatched: plan, counts and maps. Keeps its Buffer's state alive.
class Handle {
 public:
  Handle(Handle&&) noexcept;
  Handle& operator=(Handle&&) noexcept;
  ~Handle();

  /// Waits until the latest operation issued on this handle has ended on this rank.
  [[nodiscard]] Status wait();
  /// REQUIRES: the dispatch has been waited for.
  [[nodiscard]] Received received() const;
  /// Host memory that this handle holds.
  [[nodiscard]] std::size_t bytes() const;

 private:
  friend class Buffer;
  explicit Handle(std::shared_ptr<engine::HandleState> state);
  std::shared_ptr<engine::HandleState> state_;
};

/// Memory, connections and threads of one rank. Created and destroyed by all ranks together;
/// destruction is bounded even if peers are gone.
class Buffer {
 public:
  /// Collective. Errors: an option that is not allowed, or that ranks do not agree on (named);
  /// memory, provider or peers that cannot be had.
  [[nodiscard]] static Result<Buffer> create(World& world, const BufferOptions& options);

  Buffer(Buffer&&) noexcept;
  Buffer& operator=(Buffer&&) noexcept;
  ~Buffer();

  /// Memory that node peers read and write in place; 256-byte aligned, zeroed at creation. Local
  /// call. The error says how much is free.
  [[nodiscard]] Result<void*> allocate(std::size_t bytes);
  void release(void* pointer);

  /// Asynchronous; the output is complete when the handle's wait() returns.
  [[nodiscard]] Result<Handle> dispatch(const DispatchInput& input, const DispatchOutput& output);
  /// The same routing again with other rows: no counts travel. input.tokens, ids and weights are
  /// ignored. All ranks replay together.
  [[nodiscard]] Status replay(Handle& handle, const void* rows, const DispatchOutput& output);
  /// Asynchronous; the reverse of the handle's latest dispatch.
  [[nodiscard]] Status combine(Handle& handle, const CombineBuffers& buffers);

  /// The first failure, if any: all later calls return it at once.
  [[nodiscard]] Status status() const;
  /// "tcp", "net", …; empty with one node.
  [[nodiscard]] std::string provider() const;

  /// Of the library's other parts.
  [[nodiscard]] engine::BufferState& impl() { return *state_; }
  explicit Buffer(std::shared_ptr<engine::BufferState> state);

 private:
  std::shared_ptr<engine::BufferState> state_;
};

}  // namespace shunt
