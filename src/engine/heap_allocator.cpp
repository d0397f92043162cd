// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/error.hpp"
#include "base/units.hpp"
#include "engine/buffer_state.hpp"

namespace shunt::engine {
namespace {
constexpr std::size_t kAlignment = 256;
/// Of what holds rows: whole accesses of a warp do not straddle.
constexpr std::size_t kPage = 4096;
}  // namespace

void HeapAllocator::reset(std::size_t begin, std::size_t end) {
  free_.clear();
  used_.clear();
  if (end > begin) free_[begin] = end - begin;
}

Result<std::size_t> HeapAllocator::allocate(std::size_t bytes) {
  const std::size_t size = memory::align_up(std::max<std::size_t>(bytes, 1), kAlignment);
  for (auto it = free_.begin(); it != free_.end(); ++it) {
    const std::size_t at = memory::align_up(it->first, size < kPage ? kAlignment : kPage);
    const std::size_t before = at - it->first;
    if (it->second < before + size) continue;
    const std::size_t left = it->second - before - size;
    if (before > 0) {
      it->second = before;
    } else {
      free_.erase(it);
    }
    if (left > 0) free_[at + size] = left;
    used_[at] = size;
    return at;
  }
  return fail(
      ErrorCode::kOutOfMemory,
      ErrorScope::kOperation,
      "{} do not fit into the heap ({} free in all); create the Buffer with more heap_bytes",
      format_size(bytes),
      format_size(free_bytes()));
}

bool HeapAllocator::release(std::size_t offset) {
  const auto it = used_.find(offset);
  if (it == used_.end()) return false;
  std::size_t begin = it->first;
  std::size_t size = it->second;
  used_.erase(it);
  auto next = free_.lower_bound(begin);
  if (next != free_.end() && next->first == begin + size) {
    size += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == begin) {
      begin = before->first;
      size += before->second;
      free_.erase(before);
    }
  }
  free_[begin] = size;
  return true;
}

std::size_t HeapAllocator::free_bytes() const {
  std::size_t total = 0;
  for (const auto& [offset, bytes] : free_) total += bytes;
  return total;
}

}  // namespace shunt::engine
