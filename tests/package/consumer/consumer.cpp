// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// A stranger's program: sees only what is installed. A world of one rank sends its tokens to
// itself.
#include <cstdint>
#include <cstdio>
#include <vector>

#include <shunt/shunt.hpp>

namespace {

shunt::Result<float> twice_around() {
  auto world = shunt::World::single();
  if (!world) return shunt::Unexpected(world.error());
  auto buffer = shunt::Buffer::create(
      *world, {.experts = 2, .topk = 1, .hidden = 8, .dtype = shunt::DType::kF32, .max_tokens = 2});
  if (!buffer) return shunt::Unexpected(buffer.error());
  const std::vector<float> rows(16, 1.5F);
  const std::vector<float> weights(2, 1.0F);
  const std::vector<std::int32_t> ids = {1, 0};
  std::vector<float> received(16);
  std::vector<float> sums(16);
  auto handle = buffer->dispatch(
      {.rows = rows.data(), .tokens = 2, .ids = ids.data(), .weights = weights.data()},
      {.rows = received.data(), .capacity = 2});
  if (!handle) return shunt::Unexpected(handle.error());
  if (auto done = handle->wait(); !done) return shunt::Unexpected(done.error());
  auto issued = buffer->combine(*handle, {.rows = received.data(), .output = sums.data()});
  if (!issued) return shunt::Unexpected(issued.error());
  if (auto done = handle->wait(); !done) return shunt::Unexpected(done.error());
  return sums.back();
}

}  // namespace

int main() {
  const auto sum = twice_around();
  if (!sum) {
    std::fprintf(stderr, "%s\n", sum.error().to_string().c_str());
    return 1;
  }
  std::printf("shunt: %s, sum %g\n", shunt::to_string(shunt::DType::kF32), *sum);
  return *sum == 1.5F ? 0 : 1;
}
