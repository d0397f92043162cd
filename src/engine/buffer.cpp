// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// The public classes: thin, so that users need none of the inside.
#include <algorithm>
#include <cstring>

#include "base/error.hpp"
#include "bootstrap/caller_world.hpp"
#include "bootstrap/threads_world.hpp"
#include "engine/buffer_state.hpp"
#include "shunt/shunt.hpp"

namespace shunt {
namespace {
constexpr std::uint64_t kSetupDeadline_ns = 60'000'000'000;
}

World::World(std::unique_ptr<bootstrap::World> impl)
    : owned_(std::move(impl)), impl_(owned_.get()) {}
World::World(bootstrap::World& borrowed) : impl_(&borrowed) {}
World::World(World&&) noexcept = default;
World& World::operator=(World&&) noexcept = default;
World::~World() = default;
int World::rank() const {
  return impl_->rank();
}
int World::size() const {
  return impl_->size();
}
Status World::barrier() {
  return impl_->barrier();
}

Result<World> World::from_all_gather(int rank, int size, AllGather all_gather) {
  auto made = bootstrap::caller_world(
      rank,
      size,
      [gather = std::move(all_gather)](std::span<const std::byte> mine,
                                       std::span<std::byte> all) -> Status {
        const int failed = gather(mine.data(), mine.size(), all.data());
        if (failed == 0) return {};
        return fail(
            ErrorCode::kSystem, ErrorScope::kFatal, "the caller's all-gather returned {}", failed);
      });
  if (!made) return Unexpected(std::move(made).error());
  return World(std::move(*made));
}

Result<World> World::single() {
  return from_all_gather(0, 1, [](const void* mine, std::size_t bytes, void* all) {
    std::memcpy(all, mine, bytes);
    return 0;
  });
}

Status World::run_threads(int ranks, const std::function<Status(World&)>& rank_main) {
  return bootstrap::run_threads(ranks, kSetupDeadline_ns, [&](bootstrap::World& inner) {
    World world(inner);
    return rank_main(world);
  });
}

Handle::Handle(std::shared_ptr<engine::HandleState> state) : state_(std::move(state)) {}
Handle::Handle(Handle&&) noexcept = default;
Handle& Handle::operator=(Handle&&) noexcept = default;
Handle::~Handle() = default;

Status Handle::wait() {
  return state_->buffer->wait(*state_);
}

Received Handle::received() const {
  Received received;
  const std::int64_t total = state_->total_rows();
  received.rows = std::min(total, state_->capacity);
  received.overflow = total - received.rows;
  received.rows_from = state_->rows_from;
  return received;
}

std::size_t Handle::bytes() const {
  const engine::HandleState& s = *state_;
  const plan::Plan& p = s.plan;
  const auto size = [](const auto& v) { return v.size() * sizeof(v[0]); };
  return size(p.rows_to_rank) + size(p.send_begin) + size(p.send_tokens) + size(p.chunk_begin) +
         size(p.chunk_prefix) + size(p.own_tokens) + size(p.own_rows) + size(p.copies_begin) +
         size(p.copies) + size(s.routing.ids) + size(s.routing.weights) + size(s.row_base) +
         size(s.serve_begin) + size(s.records_from) + size(s.rows_from) + size(s.pending) +
         s.forward_count * sizeof(plan::RowRef);
}

Buffer::Buffer(std::shared_ptr<engine::BufferState> state) : state_(std::move(state)) {}
Buffer::Buffer(Buffer&&) noexcept = default;
Buffer& Buffer::operator=(Buffer&& other) noexcept {
  if (state_ != nullptr && state_ != other.state_) state_->close();
  state_ = std::move(other.state_);
  return *this;
}
Buffer::~Buffer() {
  if (state_ != nullptr) state_->close();
}

Result<Buffer> Buffer::create(World& world, const BufferOptions& options) {
  auto state = engine::BufferState::create(world.impl(), options);
  if (!state) return Unexpected(std::move(state).error());
  return Buffer(std::move(*state));
}

Result<void*> Buffer::allocate(std::size_t bytes) {
  return state_->allocate(bytes);
}
void Buffer::release(void* pointer) {
  state_->release(pointer);
}

Result<Handle> Buffer::dispatch(const DispatchInput& input, const DispatchOutput& output) {
  auto handle = state_->dispatch(input, output);
  if (!handle) return Unexpected(std::move(handle).error());
  return Handle(std::move(*handle));
}
Status Buffer::replay(Handle& handle, const void* rows, const DispatchOutput& output) {
  return state_->replay(handle.state_, rows, output);
}
Status Buffer::combine(Handle& handle, const CombineBuffers& buffers) {
  return state_->combine(handle.state_, buffers);
}
Status Buffer::status() const {
  return state_->status();
}
std::string Buffer::provider() const {
  return state_->provider();
}

}  // namespace shunt
