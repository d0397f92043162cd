// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "base/cpus.hpp"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <memory>

#include "base/error.hpp"

namespace shunt {
namespace {

/// More than any kernel is built for; a list beyond it is not one of CPUs.
constexpr int kMostCpus = 1 << 16;

struct FreeSet {
  void operator()(cpu_set_t* set) const { CPU_FREE(set); }
};
using Set = std::unique_ptr<cpu_set_t, FreeSet>;

/// The number that begins `text`, which is taken off; −1: none, or too large.
int take_number(std::string_view& text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value < 0 || value >= kMostCpus) return -1;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

}  // namespace

Result<Cpus> parse_cpus(std::string_view text) {
  Cpus cpus;
  std::string_view left = text;
  while (!left.empty()) {
    const int first = take_number(left);
    int last = first;
    if (first >= 0 && !left.empty() && left.front() == '-') {
      left.remove_prefix(1);
      last = take_number(left);
    }
    const bool more = !left.empty() && left.front() == ',';
    if (more) left.remove_prefix(1);
    if (first < 0 || last < first || more == left.empty()) {
      return usage_error("'{}' is no list of CPUs such as 0-3,8", text);
    }
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
  }
  std::sort(cpus.begin(), cpus.end());
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
  return cpus;
}

std::string format_cpus(const Cpus& cpus) {
  std::string text;
  for (std::size_t i = 0; i < cpus.size();) {
    std::size_t end = i + 1;
    while (end < cpus.size() && cpus[end] == cpus[end - 1] + 1) ++end;
    text += fmt::format("{}{}", text.empty() ? "" : ",", cpus[i]);
    if (end > i + 1) text += fmt::format("-{}", cpus[end - 1]);
    i = end;
  }
  return text;
}

Result<Cpus> allowed_cpus() {
  // The kernel refuses a set that is smaller than its own.
  for (int count = CPU_SETSIZE; count <= kMostCpus; count *= 2) {
    const Set set(CPU_ALLOC(static_cast<std::size_t>(count)));
    const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(count));
    if (::sched_getaffinity(0, bytes, set.get()) != 0) {
      if (errno == EINVAL && count < kMostCpus) continue;
      return system_error(errno, "asking for the CPUs of this thread");
    }
    Cpus cpus;
    for (int cpu = 0; cpu < count; ++cpu) {
      if (CPU_ISSET_S(static_cast<std::size_t>(cpu), bytes, set.get())) cpus.push_back(cpu);
    }
    return cpus;
  }
  return Cpus{};
}

Status bind_this_thread(const Cpus& cpus) {
  const auto count = static_cast<std::size_t>(std::max(cpus.back() + 1, CPU_SETSIZE));
  const Set set(CPU_ALLOC(count));
  const std::size_t bytes = CPU_ALLOC_SIZE(count);
  CPU_ZERO_S(bytes, set.get());
  for (const int cpu : cpus) CPU_SET_S(static_cast<std::size_t>(cpu), bytes, set.get());
  if (::sched_setaffinity(0, bytes, set.get()) == 0) return {};
  return system_error(errno, "keeping a thread on CPUs {}", format_cpus(cpus));
}

}  // namespace shunt
