// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// The CPU executor's inner loops, one thread: rows of 7168 elements copied to several places, and
// summed; by every table that runs here, from the cache and from memory. bytes_per_second counts
// what is read and what is stored.
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "exec/cpu/kernels.hpp"

namespace shunt::exec::cpu {
namespace {

constexpr std::size_t kElements = 7168;
/// Rows that one stream walks over: a few stay in the second-level cache, many do not.
constexpr std::size_t kNear = 8;
constexpr std::size_t kFar = 8192;

/// `streams` runs of `rows` rows; element values are small, so that nothing overflows.
class Rows {
 public:
  Rows(std::size_t streams, std::size_t rows, std::size_t row_bytes)
      : rows_(rows), row_bytes_(row_bytes), memory_(streams * rows * row_bytes + 64) {
    for (std::size_t i = 0; i < memory_.size(); ++i) memory_[i] = std::byte(i % 61);
  }
  [[nodiscard]] std::byte* at(std::size_t stream, std::size_t row) {
    auto* base = memory_.data();
    base += (64 - reinterpret_cast<std::uintptr_t>(base) % 64) % 64;
    return base + (stream * rows_ + row % rows_) * row_bytes_;
  }

 private:
  std::size_t rows_;
  std::size_t row_bytes_;
  std::vector<std::byte> memory_;
};

void copy_rows(benchmark::State& state, const Kernels& kernels, std::size_t rows, int copies) {
  const std::size_t bytes = kElements * 2;
  Rows memory(static_cast<std::size_t>(copies) + 1, rows, bytes);
  std::vector<std::byte*> to(static_cast<std::size_t>(copies));
  std::size_t row = 0;
  for (auto _ : state) {
    for (std::size_t c = 0; c < to.size(); ++c) to[c] = memory.at(c + 1, row);
    kernels.copy_multi(to.data(), copies, memory.at(0, row), bytes);
    ++row;
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes) * (1 + copies));
}

using Sum = decltype(Kernels::sum);

void sum_rows(benchmark::State& state, Sum sum, std::size_t rows, int count, DType type) {
  const std::size_t bytes = kElements * size_of(type);
  Rows memory(static_cast<std::size_t>(count) + 1, rows, bytes);
  std::vector<SumTerm> terms(static_cast<std::size_t>(count));
  std::size_t row = 0;
  for (auto _ : state) {
    for (std::size_t c = 0; c < terms.size(); ++c) {
      terms[c] = {memory.at(c + 1, row), type, c + 1 == terms.size()};
    }
    sum(memory.at(0, row), terms, kElements, {type, type});
    ++row;
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes) * (1 + count));
}

void register_all() {
  for (const Kernels* table : all_kernels()) {
    const std::string name = table->name;
    for (const auto& [where, rows] : {std::pair("near", kNear), std::pair("far", kFar)}) {
      for (const int copies : {1, 2, 4}) {
        benchmark::RegisterBenchmark(
            ("copy/" + std::to_string(copies) + "/" + where + "/" + name).c_str(),
            [table, rows = rows, copies](benchmark::State& state) {
              copy_rows(state, *table, rows, copies);
            });
      }
      for (const auto type : {DType::kBF16, DType::kF16, DType::kF32}) {
        for (const int count : {1, 2, 4, 8}) {
          if (type != DType::kBF16 && count != 4) continue;
          const std::string rest = std::string("/") + to_string(type) + "/" +
                                   std::to_string(count) + "/" + where + "/" + name;
          for (const auto& [how, sum] :
               {std::pair("sum", table->sum), std::pair("sum_stream", table->sum_stream)}) {
            benchmark::RegisterBenchmark(
                (how + rest).c_str(),
                [sum = sum, rows = rows, count, type](benchmark::State& state) {
                  sum_rows(state, sum, rows, count, type);
                });
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace shunt::exec::cpu

int main(int argc, char** argv) {
  shunt::exec::cpu::register_all();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
