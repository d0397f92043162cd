// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// bench_memory_limit --threads 2: how fast this machine's threads copy, to hold dispatch against.
// Three figures, as one JSON object:
//   copy    one row read, one row stored: bytes read plus bytes stored, a second
//   spread  one row read, `--copies` rows stored into as many places: what a dispatch inside a node
//           does, without counts, slots and flags
//   gather  `--copies` rows of bf16 read, their sum stored: what a combine does, likewise
// Copies by memcpy and by the executor's kernels, which store past the caches; the better one
// counts. Sums by the latter.
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/clock.hpp"
#include "exec/cpu/kernels.hpp"

namespace {

struct Options {
  int threads = 2;
  std::size_t row_bytes = 14336;
  std::size_t mib = 256;  ///< Source bytes of each thread.
  int copies = 4;
  int repeats = 7;
};

/// Pages of its own, touched; huge ones where the system gives them.
class Memory {
 public:
  explicit Memory(std::size_t bytes) : bytes_(bytes) {
    void* at = ::mmap(
        nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) return;
    ::madvise(at, bytes, MADV_HUGEPAGE);
    data_ = static_cast<std::byte*>(at);
    std::memset(data_, 1, bytes);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() {
    if (data_ != nullptr) ::munmap(data_, bytes_);
  }
  [[nodiscard]] std::byte* data() const { return data_; }

 private:
  std::size_t bytes_;
  std::byte* data_ = nullptr;
};

/// Source and destinations of one thread.
struct Work {
  Memory source;
  std::vector<std::unique_ptr<Memory>> places;
  Work(std::size_t bytes, int copies) : source(bytes) {
    for (int i = 0; i < copies; ++i) places.push_back(std::make_unique<Memory>(bytes));
  }
  [[nodiscard]] bool valid() const {
    return source.data() != nullptr &&
           std::all_of(places.begin(), places.end(), [](const auto& p) { return p->data(); });
  }
};

using CopyRow = void (*)(std::byte* const* to, int count, const std::byte* from, std::size_t bytes);

void by_memcpy(std::byte* const* to, int count, const std::byte* from, std::size_t bytes) {
  for (int i = 0; i < count; ++i) std::memcpy(to[i], from, bytes);
}

/// From `to` back to where copies come from: small numbers, whatever the bytes are.
void gather(std::byte* const* to, int count, const std::byte* from, std::size_t bytes) {
  thread_local std::vector<shunt::exec::SumTerm> terms;
  terms.resize(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    terms[static_cast<std::size_t>(i)] = {to[i], shunt::DType::kBF16, i + 1 == count};
  }
  shunt::exec::cpu::kernels().sum_stream(
      const_cast<std::byte*>(from), terms, bytes / 2, {shunt::DType::kBF16, shunt::DType::kBF16});
}

void run_rows(const Options& options, const Work& work, int copies, CopyRow copy) {
  std::vector<std::byte*> to(static_cast<std::size_t>(copies));
  const std::size_t rows = (options.mib << 20) / options.row_bytes;
  for (std::size_t row = 0; row < rows; ++row) {
    const std::size_t at = row * options.row_bytes;
    for (int i = 0; i < copies; ++i) {
      to[static_cast<std::size_t>(i)] = work.places[static_cast<std::size_t>(i)]->data() + at;
    }
    copy(to.data(), copies, work.source.data() + at, options.row_bytes);
  }
  __builtin_ia32_sfence();
}

/// Seconds from the common start to the end of the last thread.
double time_s(const Options& options,
              const std::vector<std::unique_ptr<Work>>& works,
              int copies,
              CopyRow copy) {
  std::atomic<int> ready{0};
  std::atomic<bool> go{false};
  std::vector<std::thread> threads;
  for (const auto& work : works) {
    threads.emplace_back([&, work = work.get()] {
      ready.fetch_add(1);
      while (!go.load(std::memory_order_acquire)) std::this_thread::yield();
      run_rows(options, *work, copies, copy);
    });
  }
  while (ready.load() < options.threads) std::this_thread::yield();
  const std::uint64_t begin = shunt::now_ns();
  go.store(true, std::memory_order_release);
  for (std::thread& thread : threads) thread.join();
  return static_cast<double>(shunt::now_ns() - begin) * 1e-9;
}

struct Way {
  const char* name;
  CopyRow copy;
};

/// Median GB/s of the best of several ways.
nlohmann::ordered_json measure(const Options& options,
                               const std::vector<std::unique_ptr<Work>>& works,
                               int copies,
                               const std::vector<Way>& ways) {
  const std::size_t rows = (options.mib << 20) / options.row_bytes;
  const double bytes = static_cast<double>(options.row_bytes * rows) *
                       static_cast<double>((1 + copies) * options.threads);
  nlohmann::ordered_json best;
  for (const Way& way : ways) {
    (void)time_s(options, works, copies, way.copy);
    std::vector<double> rates;
    for (int i = 0; i < options.repeats; ++i) {
      rates.push_back(bytes / time_s(options, works, copies, way.copy) / 1e9);
    }
    std::sort(rates.begin(), rates.end());
    const double median = rates[rates.size() / 2];
    if (!best.is_null() && best["gb_per_s"].get<double>() >= median) continue;
    best = {{"gb_per_s", median},
            {"min_gb_per_s", rates.front()},
            {"max_gb_per_s", rates.back()},
            {"by", way.name}};
  }
  return best;
}

int run(const Options& options) {
  std::vector<std::unique_ptr<Work>> works;
  for (int i = 0; i < options.threads; ++i) {
    works.push_back(std::make_unique<Work>(options.mib << 20, options.copies));
    if (!works.back()->valid()) {
      std::fprintf(stderr,
                   "bench_memory_limit: no memory for %d threads of %zu MiB and %d copies; try a "
                   "smaller --mib\n",
                   options.threads,
                   options.mib,
                   options.copies);
      return 2;
    }
  }
  const shunt::exec::cpu::Kernels& kernels = shunt::exec::cpu::kernels();
  const std::vector<Way> copying = {{"memcpy", by_memcpy}, {kernels.name, kernels.copy_multi}};
  const nlohmann::ordered_json result = {
      {"program", "bench_memory_limit"},
      {"threads", options.threads},
      {"row_bytes", options.row_bytes},
      {"source_mib", options.mib},
      {"copies", options.copies},
      {"copy", measure(options, works, 1, copying)},
      {"spread", measure(options, works, options.copies, copying)},
      {"gather", measure(options, works, options.copies, {{kernels.name, gather}})}};
  std::printf("%s\n", result.dump(2).c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("How fast the threads of this machine copy rows");
  app.add_option("--threads", options.threads, "That copy at a time")->check(CLI::PositiveNumber);
  app.add_option("--row-bytes", options.row_bytes, "Of one copy, a multiple of 64")
      ->check(CLI::PositiveNumber);
  app.add_option("--mib", options.mib, "Source of each thread")->check(CLI::PositiveNumber);
  app.add_option("--copies", options.copies, "Places that a row is stored in")
      ->check(CLI::PositiveNumber);
  app.add_option("--repeats", options.repeats, "Of each figure")->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  return run(options);
}
