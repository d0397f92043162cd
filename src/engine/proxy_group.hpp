// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// All progress threads of a rank. in: options, a part for each thread → out: threads that start and
// end together, and the alarm that any of them, or a block, raises for the rank.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "engine/alarm.hpp"
#include "engine/proxy.hpp"

namespace shunt::engine {

class ProxyGroup {
 public:
  /// One thread a part: at least one.
  ProxyGroup(ProgressOptions options, AlarmOptions alarm, std::vector<ProxyPart> parts);
  ~ProxyGroup();
  ProxyGroup(const ProxyGroup&) = delete;
  ProxyGroup& operator=(const ProxyGroup&) = delete;

  void start();
  /// Ends the threads as Proxy::ask_to_stop() says, all of them at the same time. Idempotent.
  void stop();
  /// Any thread. seq_cst behind what the caller has stored for the threads to find.
  void wake_sleepers();

  [[nodiscard]] Alarm& alarm() { return alarm_; }
  [[nodiscard]] int size() const { return static_cast<int>(threads_.size()); }
  [[nodiscard]] Proxy& thread(int t) { return *threads_[static_cast<std::size_t>(t)]; }
  [[nodiscard]] const Proxy& thread(int t) const { return *threads_[static_cast<std::size_t>(t)]; }

  /// CPU time of all threads so far. By whoever starts and stops them.
  [[nodiscard]] std::uint64_t cpu_ns() const;
  /// All that the threads have given to their fabrics.
  [[nodiscard]] std::uint64_t messages() const;

 private:
  const ProgressOptions options_;
  Alarm alarm_;
  std::vector<std::unique_ptr<Proxy>> threads_;
};

}  // namespace shunt::engine
