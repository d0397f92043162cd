// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/proxy_group.hpp"

#include <utility>

namespace shunt::engine {

ProxyGroup::ProxyGroup(ProgressOptions options, AlarmOptions alarm, std::vector<ProxyPart> parts)
    : options_(std::move(options)), alarm_(std::move(alarm), [this] {
        for (const auto& thread : threads_) thread->wake();
      }) {
  for (ProxyPart& part : parts) {
    threads_.push_back(std::make_unique<Proxy>(options_, alarm_, std::move(part)));
  }
}

ProxyGroup::~ProxyGroup() {
  // All before the first is destroyed: any of them may raise the alarm, which wakes all.
  stop();
}

void ProxyGroup::start() {
  for (const auto& thread : threads_) thread->start();
}

void ProxyGroup::stop() {
  for (const auto& thread : threads_) thread->ask_to_stop();
  for (const auto& thread : threads_) thread->join();
}

void ProxyGroup::wake_sleepers() {
  for (const auto& thread : threads_) {
    if (thread->sleeps().load(std::memory_order_seq_cst)) thread->wake();
  }
}

std::uint64_t ProxyGroup::cpu_ns() const {
  std::uint64_t total = 0;
  for (const auto& thread : threads_) total += thread->cpu_ns();
  return total;
}

std::uint64_t ProxyGroup::messages() const {
  std::uint64_t total = 0;
  for (const auto& thread : threads_) total += thread->stats().messages();
  return total;
}

}  // namespace shunt::engine
