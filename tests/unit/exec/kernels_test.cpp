// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Every table of kernels that this processor runs, against loops over single elements.
#include "exec/cpu/kernels.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "exec/cpu/convert.hpp"

namespace shunt::exec::cpu {
namespace {

constexpr DType kTypes[] = {DType::kF32, DType::kBF16, DType::kF16};

float load(const std::byte* row, std::size_t element, DType type) {
  if (type == DType::kF32) {
    float value = 0;
    std::memcpy(&value, row + element * 4, 4);
    return value;
  }
  std::uint16_t raw = 0;
  std::memcpy(&raw, row + element * 2, 2);
  return type == DType::kBF16 ? bf16_to_f32(raw) : f16_to_f32(raw);
}

void store(std::byte* row, std::size_t element, DType type, float value) {
  if (type == DType::kF32) {
    std::memcpy(row + element * 4, &value, 4);
    return;
  }
  const std::uint16_t raw = type == DType::kBF16 ? f32_to_bf16(value) : f32_to_f16(value);
  std::memcpy(row + element * 2, &raw, 2);
}

float round_to(float value, DType type) {
  if (type == DType::kF32) return value;
  return type == DType::kBF16 ? bf16_to_f32(f32_to_bf16(value)) : f16_to_f32(f32_to_f16(value));
}

/// docs/numerics.md, one element.
float reference_sum(const std::vector<SumTerm>& terms, std::size_t element, SumTypes types) {
  float total = 0;
  float partial = 0;
  bool first_partial = true;
  bool first_term = true;
  for (const SumTerm& term : terms) {
    const float value = load(term.data, element, term.type);
    partial = first_term ? value : partial + value;
    first_term = term.ends_partial;
    if (!term.ends_partial) continue;
    const float rounded = round_to(partial, types.partial);
    total = first_partial ? rounded : total + rounded;
    first_partial = false;
  }
  return total;
}

/// Mostly ordinary numbers, with zeros of both signs, subnormals, infinities and NaNs among them.
float draw(Random& random) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  switch (random.below(64)) {
    case 0:
      return -0.0F;
    case 1:
      return 0.0F;
    case 2:
      return kInfinity;
    case 3:
      return -kInfinity;
    case 4:
      return std::numeric_limits<float>::quiet_NaN();
    case 5:
      return std::bit_cast<float>(static_cast<std::uint32_t>(random.below(0x0080'0000)));
    case 6:
      return std::bit_cast<float>(static_cast<std::uint32_t>(random.next()));
    case 7:
      return 6e-8F * static_cast<float>(random.uniform());
    default:
      return static_cast<float>(random.uniform() * 8 - 4);
  }
}

struct Rows {
  std::vector<std::vector<std::byte>> data;
  std::vector<SumTerm> terms;
};

/// One row for each term; `partials` gives the number of terms of each partial.
Rows make_rows(Random& random, const std::vector<int>& partials, std::size_t n, DType type) {
  Rows rows;
  for (const int terms : partials) {
    for (int i = 0; i < terms; ++i) {
      // A landed partial has the wire type, an own row the row type.
      const DType own = random.below(3) == 0 ? kTypes[random.below(3)] : type;
      std::vector<std::byte> row(n * size_of(own));
      for (std::size_t e = 0; e < n; ++e) store(row.data(), e, own, draw(random));
      rows.data.push_back(std::move(row));
      rows.terms.push_back({rows.data.back().data(), own, i + 1 == terms});
    }
  }
  return rows;
}

struct alignas(64) Line {
  std::byte bytes[64];
};

/// `bytes` at `shift` from a line, with a guard on both sides.
class Area {
 public:
  Area(std::size_t bytes, std::size_t shift)
      : lines_(bytes / 64 + 6), shift_(shift), bytes_(bytes) {
    std::memset(lines_.data(), 0x5a, lines_.size() * 64);
  }
  std::byte* data() { return lines_[1].bytes + shift_; }
  bool guards_stand() {
    const std::byte* begin = lines_[0].bytes;
    const std::byte* end = begin + lines_.size() * 64;
    return std::all_of(begin, static_cast<const std::byte*>(data()), is_guard) &&
           std::all_of(static_cast<const std::byte*>(data()) + bytes_, end, is_guard);
  }

 private:
  static bool is_guard(std::byte b) { return b == std::byte{0x5a}; }
  std::vector<Line> lines_;
  std::size_t shift_;
  std::size_t bytes_;
};

/// By either way to store, at any place in a line.
void expect_sum(const Kernels& table, const Rows& rows, std::size_t n, SumTypes types) {
  for (const auto sum : {table.sum, table.sum_stream}) {
    for (const std::size_t shift : {0U, 16U, 48U, 4U, 34U}) {
      if (shift % size_of(types.output) != 0) continue;
      Area target(n * size_of(types.output), shift);
      sum(target.data(), rows.terms, n, types);
      ASSERT_TRUE(target.guards_stand()) << table.name << ' ' << n << " at " << shift;
      for (std::size_t e = 0; e < n; ++e) {
        std::byte want[4] = {};
        store(want, 0, types.output, reference_sum(rows.terms, e, types));
        const std::byte* at = target.data() + e * size_of(types.output);
        // Which of two NaNs an addition returns is the compiler's choice of operands.
        if (std::isnan(load(want, 0, types.output)) && std::isnan(load(at, 0, types.output))) {
          continue;
        }
        ASSERT_EQ(std::memcmp(at, want, size_of(types.output)), 0)
            << table.name << " element " << e << " of " << n << ": " << load(at, 0, types.output)
            << ", not " << load(want, 0, types.output);
      }
    }
  }
}

TEST(Sum, EveryTableGivesTheBitsOfTheFormula) {
  Random random(3);
  for (const std::size_t n : {4U, 8U, 16U, 20U, 24U, 120U, 504U, 512U, 520U, 1032U, 2048U, 7168U}) {
    for (const auto& partials : std::vector<std::vector<int>>{
             {1}, {2}, {1, 1}, {3, 1, 2}, {8}, {1, 4, 1, 1, 1, 2, 1, 1, 3}}) {
      for (const DType row : kTypes) {
        const Rows rows = make_rows(random, partials, n, row);
        for (const DType partial : kTypes) {
          for (const DType output : kTypes) {
            for (const Kernels* table : all_kernels()) {
              ASSERT_NO_FATAL_FAILURE(expect_sum(*table, rows, n, {partial, output}));
            }
          }
        }
      }
    }
  }
}

/// docs/numerics.md, section 3.
TEST(Sum, StaysWithinTheErrorBound) {
  const auto roundoff = [](DType type) {
    return type == DType::kF32 ? 0.0 : type == DType::kBF16 ? 0x1p-8 : 0x1p-11;
  };
  Random random(8);
  constexpr std::size_t kElements = 512;
  double closest = 0;
  for (const auto& partials : std::vector<std::vector<int>>{{2}, {2, 2, 2, 2}, {8, 1}, {5, 3, 7}}) {
    for (const DType wire : kTypes) {
      for (const DType output : kTypes) {
        std::vector<std::vector<float>> rows;
        std::vector<SumTerm> terms;
        for (const int count : partials) {
          for (int i = 0; i < count; ++i) {
            auto& row = rows.emplace_back(kElements);
            // Of one sign, so that no result comes near the subnormals.
            for (float& x : row) x = static_cast<float>(random.uniform() * 8 + 0.1);
            terms.push_back(
                {reinterpret_cast<const std::byte*>(row.data()), DType::kF32, i + 1 == count});
          }
        }
        const auto adds = static_cast<double>(std::ranges::max(partials) - 1) +
                          static_cast<double>(partials.size()) - 1;
        const double bound =
            std::pow(1 + 0x1p-24, adds) * (1 + roundoff(wire)) * (1 + roundoff(output)) - 1;
        for (const Kernels* table : all_kernels()) {
          std::vector<std::byte> got(kElements * size_of(output));
          table->sum(got.data(), terms, kElements, {wire, output});
          for (std::size_t e = 0; e < kElements; ++e) {
            double exact = 0;
            for (const auto& row : rows) exact += static_cast<double>(row[e]);
            const double error =
                std::abs(static_cast<double>(load(got.data(), e, output)) - exact) / exact;
            ASSERT_LE(error, bound) << table->name;
            closest = std::max(closest, error / bound);
          }
        }
      }
    }
  }
  EXPECT_GT(closest, 0.5) << "the bound is too wide to mean anything";
}

TEST(Sum, NoTermsGiveZerosAndOneRowPassesThrough) {
  Random random(4);
  for (const Kernels* table : all_kernels()) {
    for (const DType type : kTypes) {
      const std::size_t n = 1032;
      std::vector<std::byte> got(n * size_of(type), std::byte{0x5a});
      table->sum(got.data(), {}, n, {DType::kBF16, type});
      EXPECT_TRUE(std::ranges::all_of(got, [](std::byte b) { return b == std::byte{0}; }));
      const Rows rows = make_rows(random, {1}, n, type);
      if (rows.terms[0].type != type) continue;
      table->sum(got.data(), rows.terms, n, {type, type});
      EXPECT_EQ(got, rows.data[0]) << table->name;
    }
  }
}

TEST(Sum, NegativeZeroSurvivesAlone) {
  for (const Kernels* table : all_kernels()) {
    std::vector<float> row(8, -0.0F);
    std::vector<float> got(8, 1.0F);
    const SumTerm term{reinterpret_cast<const std::byte*>(row.data()), DType::kF32, true};
    table->sum(reinterpret_cast<std::byte*>(got.data()), {&term, 1}, 8, {DType::kF32, DType::kF32});
    for (const float value : got) EXPECT_TRUE(value == 0 && std::signbit(value)) << table->name;
  }
}

constexpr std::size_t kCopySizes[] = {
    0, 16, 48, 64, 240, 256, 1024, 2032, 2048, 2064, 4080, 4096, 4112, 8192, 14'336, 100'016};

void fill(std::byte* data, std::size_t bytes, Random& random) {
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(random.next() | 1U);
}

TEST(Copy, EverySizeAndAlignment) {
  Random random(5);
  for (const Kernels* table : all_kernels()) {
    for (const std::size_t bytes : kCopySizes) {
      for (const std::size_t from : {0U, 16U, 48U}) {
        Area source(bytes, from);
        fill(source.data(), bytes, random);
        for (const std::size_t to : {0U, 16U, 32U, 48U}) {
          Area target(bytes, to);
          table->copy_stream(target.data(), source.data(), bytes);
          ASSERT_EQ(std::memcmp(target.data(), source.data(), bytes), 0)
              << table->name << ' ' << bytes;
          ASSERT_TRUE(target.guards_stand()) << table->name << ' ' << bytes;
        }
      }
    }
  }
}

TEST(Copy, OneSourceToManyTargets) {
  Random random(6);
  for (const Kernels* table : all_kernels()) {
    for (const std::size_t bytes : kCopySizes) {
      for (int count = 0; count <= 9; ++count) {
        Area source(bytes, 16);
        fill(source.data(), bytes, random);
        std::vector<Area> targets;
        std::vector<std::byte*> pointers;
        for (int i = 0; i < count; ++i) {
          targets.emplace_back(bytes, static_cast<std::size_t>(i % 4) * 16);
        }
        for (Area& target : targets) pointers.push_back(target.data());
        table->copy_multi(pointers.data(), count, source.data(), bytes);
        for (Area& target : targets) {
          ASSERT_EQ(std::memcmp(target.data(), source.data(), bytes), 0)
              << table->name << ' ' << bytes;
          ASSERT_TRUE(target.guards_stand()) << table->name << ' ' << bytes;
        }
      }
    }
  }
}

TEST(Tables, TheGenericOneIsAlwaysThereAndTheChosenOneIsAmongThem) {
  EXPECT_STREQ(all_kernels().front()->name, "generic");
  EXPECT_NE(std::ranges::find(all_kernels(), &kernels()), all_kernels().end());
}

}  // namespace
}  // namespace shunt::exec::cpu
