// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Four ranks, threads of this process on two emulated nodes: tokens go to their experts and come
// back.
#include <cstdint>
#include <cstdio>
#include <vector>

#include <shunt/shunt.hpp>

namespace {

constexpr int kRanks = 4, kExperts = 8, kTopk = 2;
constexpr std::int64_t kTokens = 16, kHidden = 64;

shunt::Status rank_main(shunt::World& world) {
  auto buffer = shunt::Buffer::create(world,
                                      {.ranks_per_node = 2,
                                       .experts = kExperts,
                                       .topk = kTopk,
                                       .hidden = kHidden,
                                       .dtype = shunt::DType::kF32,
                                       .max_tokens = kTokens});
  if (!buffer) return shunt::Unexpected(buffer.error());

  // Token t of this rank is a row of ones, for one expert of each node.
  std::vector<float> rows(kTokens * kHidden, 1.0F), weights(kTokens * kTopk, 0.5F);
  std::vector<std::int32_t> ids;
  for (std::int32_t t = 0; t < kTokens; ++t) ids.insert(ids.end(), {t % 4, 4 + t % 4});

  constexpr std::int64_t kCapacity = kRanks * kTokens;
  std::vector<float> received(kCapacity * kHidden), their_weights(kCapacity * kTopk);
  auto handle = buffer->dispatch(
      {.rows = rows.data(), .tokens = kTokens, .ids = ids.data(), .weights = weights.data()},
      {.rows = received.data(), .weights = their_weights.data(), .capacity = kCapacity});
  if (!handle) return shunt::Unexpected(handle.error());
  if (auto done = handle->wait(); !done) return done;

  // The experts: each multiplies its rows by 3 · weight. Other ranks' slots have weight 0.
  const std::int64_t count = handle->received().rows;
  for (std::int64_t i = 0; i < count * kHidden; ++i) {
    const float* weight = &their_weights[static_cast<std::size_t>(i / kHidden * kTopk)];
    received[static_cast<std::size_t>(i)] *= 3 * (weight[0] + weight[1]);
  }
  std::vector<float> sums(kTokens * kHidden);
  auto issued = buffer->combine(*handle, {.rows = received.data(), .output = sums.data()});
  if (!issued) return issued;
  if (auto done = handle->wait(); !done) return done;
  std::printf("rank %d: %ld rows received, sum %g\n", world.rank(), long{count}, sums.back());
  return {};
}

}  // namespace

int main() {
  const auto status = shunt::World::run_threads(kRanks, rank_main);
  if (!status) std::fprintf(stderr, "%s\n", status.error().to_string().c_str());
  return status ? 0 : 1;
}
