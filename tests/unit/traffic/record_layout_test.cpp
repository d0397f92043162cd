// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "traffic/record_layout.hpp"

#include <gtest/gtest.h>

namespace shunt::traffic {
namespace {

constexpr RecordLayout kBf16{
    .hidden_bytes = 14336, .topk = 8, .chunk_tokens = 64, .ranks_per_node = 8};

TEST(RecordLayout, RecordsAreAsLargeAsTheDesignSays) {
  static_assert(kBf16.record_bytes() == 14404);
  static_assert(RecordLayout{.hidden_bytes = 14336, .topk = 4}.record_bytes() == 14372);
  // fp8 e4m3 with one fp32 scale per 128 elements
  static_assert(RecordLayout{.hidden_bytes = 7168, .topk = 8, .scale_bytes = 224}.record_bytes() ==
                7168 + 224 + 68);
  static_assert(RecordLayout{.hidden_bytes = 16, .topk = 2, .has_weights = false}.record_bytes() ==
                28);
  SUCCEED();
}

TEST(RecordLayout, AWorkedChunk) {
  EXPECT_EQ(kBf16.header_bytes(), 96U);
  EXPECT_EQ(kBf16.rows_offset(), 96U);
  EXPECT_EQ(kBf16.ids_offset(3), 96U + 43008);
  EXPECT_EQ(kBf16.weights_offset(3), 43104U + 96);
  EXPECT_EQ(kBf16.sources_offset(3), 43200U + 96);
  EXPECT_EQ(kBf16.chunk_bytes(3), 43296U + 16);
  EXPECT_EQ(kBf16.framing_bytes(3), 43312U - 3 * 14404);
  EXPECT_EQ(kBf16.max_chunk_bytes(), 96U + 64 * 14404);
  EXPECT_EQ(kBf16.count_message_bytes(), 96U);
}

TEST(RecordLayout, ArraysFollowEachOtherAlignedAndApart) {
  for (const int ranks : {1, 3, 4, 8, 72}) {
    for (const int topk : {1, 3, 8}) {
      for (const bool weights : {false, true}) {
        for (const std::uint64_t n : {0U, 1U, 2U, 63U, 64U, 65U}) {
          const RecordLayout l{.hidden_bytes = 48,
                               .topk = topk,
                               .chunk_tokens = 64,
                               .ranks_per_node = ranks,
                               .scale_bytes = 12,
                               .has_weights = weights};
          const std::uint64_t k = static_cast<std::uint64_t>(topk);
          const std::uint64_t begin[] = {l.rows_offset(),
                                         l.ids_offset(n),
                                         l.weights_offset(n),
                                         l.scales_offset(n),
                                         l.sources_offset(n),
                                         l.chunk_bytes(n)};
          const std::uint64_t size[] = {n * 48, n * 4 * k, weights ? n * 4 * k : 0, n * 12, n * 4};
          EXPECT_GE(begin[0], 64U + 4U * static_cast<unsigned>(ranks));
          for (int i = 0; i < 5; ++i) {
            EXPECT_EQ(begin[i] % 16, 0U);
            EXPECT_GE(begin[i + 1], begin[i] + size[i]);
            EXPECT_LT(begin[i + 1], begin[i] + size[i] + 16);
          }
          EXPECT_EQ(l.framing_bytes(n) + n * l.record_bytes(), l.chunk_bytes(n));
        }
      }
    }
  }
}

TEST(RecordLayout, ChunksCoverRecordsWithoutAnEmptyOne) {
  EXPECT_EQ(kBf16.chunks(0), 0U);
  EXPECT_EQ(kBf16.chunks(1), 1U);
  EXPECT_EQ(kBf16.chunks(64), 1U);
  EXPECT_EQ(kBf16.chunks(65), 2U);
}

}  // namespace
}  // namespace shunt::traffic
