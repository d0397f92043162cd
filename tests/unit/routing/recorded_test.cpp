// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "routing/recorded.hpp"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "routing/generate.hpp"
#include "routing/table.hpp"

namespace shunt::routing {
namespace {

/// A folder of its own per test, gone afterwards.
class Recorded : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "shunt-routing-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& bytes) {
    const std::string path = (folder_ / name).string();
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }

  static Result<Routing> load(
      const std::string& text, std::int64_t tokens, int topk, int experts, int rank = 0) {
    return generate(*RoutingSpec::parse(text), tokens, topk, experts, 1, rank);
  }

  std::filesystem::path folder_;
};

template <typename T>
std::string raw(const std::vector<T>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

std::string npy(const std::string& type,
                const std::string& shape,
                const std::string& data,
                int version = 1,
                const std::string& order = "False") {
  std::string header =
      "{'descr': '" + type + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }";
  header.resize((header.size() + 64) / 64 * 64, ' ');
  header.back() = '\n';
  std::string out("\x93NUMPY", 6);
  out += static_cast<char>(version);
  out += '\0';
  const std::size_t width = version == 1 ? 2 : 4;
  for (std::size_t i = 0; i < width; ++i)
    out += static_cast<char>((header.size() >> (8 * i)) & 0xff);
  return out + header + data;
}

using Ids = std::vector<std::int32_t>;

TEST_F(Recorded, CsvOfIdsWithNamesCommentsAndBlankLines) {
  const std::string path = write("ids.csv", "e0,e1\r\n# layer 3\n0,1\r\n\n 7 -1\n3;4\n");
  const auto routing = load("file:" + path, 3, 2, 8);
  ASSERT_TRUE(routing) << routing.error().message;
  EXPECT_EQ(routing->ids, (Ids{0, 1, 7, -1, 3, 4}));
  EXPECT_EQ(routing->weights[2], 1.0F);  // generated: the only valid slot of its token
  EXPECT_EQ(routing->weights[3], 0.0F);
}

TEST_F(Recorded, CsvOfIdsAndWeights) {
  const std::string path = write("both.csv", "0,1,0.75,0.25\n2,-1,1.5,9\n");
  const auto routing = load("file:" + path, 2, 2, 4);
  ASSERT_TRUE(routing) << routing.error().message;
  EXPECT_EQ(routing->ids, (Ids{0, 1, 2, -1}));
  EXPECT_EQ(routing->weights, (std::vector<float>{0.75F, 0.25F, 1.5F, 0.0F}));
}

TEST_F(Recorded, RanksReadConsecutiveTokens) {
  const std::string path = write("ids.csv", "0\n1\n2\n3\n");
  EXPECT_EQ(load("file:" + path, 2, 1, 4, 1)->ids, (Ids{2, 3}));
  const auto beyond = load("file:" + path, 2, 1, 4, 2);
  ASSERT_FALSE(beyond);
  EXPECT_NE(beyond.error().message.find("holds 4 tokens; rank 2 with 2 tokens begins at token 4"),
            std::string::npos)
      << beyond.error().message;
}

TEST_F(Recorded, OneFilePerRank) {
  write("r0.csv", "0\n1\n");
  write("r1.csv", "2\n3\n");
  const std::string text = "file:" + (folder_ / "r{rank}.csv").string();
  EXPECT_EQ(load(text, 1, 1, 4, 0)->ids, (Ids{0}));
  EXPECT_EQ(load(text, 2, 1, 4, 1)->ids, (Ids{2, 3}));
  const auto missing = load(text, 1, 1, 4, 2);
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().to_string().find("r2.csv': No such file"), std::string::npos)
      << missing.error().to_string();
}

TEST_F(Recorded, NpyOfEveryIntegerTypeAndVersion) {
  const std::vector<std::pair<std::string, std::string>> forms = {
      {"|i1", raw(std::vector<std::int8_t>{3, -1, 0, 2})},
      {"|u1", raw(std::vector<std::uint8_t>{3, 1, 0, 2})},
      {"<i2", raw(std::vector<std::int16_t>{3, -1, 0, 2})},
      {"<u2", raw(std::vector<std::uint16_t>{3, 1, 0, 2})},
      {"<i4", raw(std::vector<std::int32_t>{3, -1, 0, 2})},
      {"<u4", raw(std::vector<std::uint32_t>{3, 1, 0, 2})},
      {"<i8", raw(std::vector<std::int64_t>{3, -1, 0, 2})},
      {"<u8", raw(std::vector<std::uint64_t>{3, 1, 0, 2})}};
  int version = 0;
  for (const auto& form : forms) {
    version = version % 3 + 1;
    const std::string path = write("ids.npy", npy(form.first, "(2, 2)", form.second, version));
    const auto routing = load("file:" + path, 2, 2, 4);
    ASSERT_TRUE(routing) << form.first << ": " << routing.error().message;
    const std::int32_t second = form.first[1] == 'i' ? -1 : 1;
    EXPECT_EQ(routing->ids, (Ids{3, second, 0, 2})) << form.first;
  }
}

TEST_F(Recorded, NpyOfThreeDimensionsHasOneSlicePerRank) {
  const Ids ids = {0, 1, 2, 3, 4, 5};
  const std::string path = write("ids.npy", npy("<i4", "(2, 3, 1)", raw(ids)));
  EXPECT_EQ(load("file:" + path, 2, 1, 6, 1)->ids, (Ids{3, 4}));
  EXPECT_FALSE(load("file:" + path, 4, 1, 6, 0));
  EXPECT_FALSE(load("file:" + path, 1, 1, 6, 2));
}

TEST_F(Recorded, NpyOfOneDimensionIsTopOne) {
  const std::string path =
      write("ids.npy", npy("<i8", "(3,)", raw(std::vector<std::int64_t>{2, 0, 1})));
  EXPECT_EQ(load("file:" + path, 3, 1, 4)->ids, (Ids{2, 0, 1}));
}

TEST_F(Recorded, WeightsBesideInEveryFloatType) {
  const std::string ids = write("ids.npy", npy("<i4", "(1, 4)", raw(Ids{0, 1, 2, -1})));
  const std::vector<float> expected = {0.5F, -2.0F, 0x1.0p-24F, 0.0F};
  const std::vector<std::pair<std::string, std::string>> forms = {
      {"<f2", raw(std::vector<std::uint16_t>{0x3800, 0xc000, 0x0001, 0x3c00})},
      {"<f4", raw(std::vector<float>{0.5F, -2.0F, 0x1.0p-24F, 1.0F})},
      {"<f8", raw(std::vector<double>{0.5, -2.0, 0x1.0p-24, 1.0})}};
  for (const auto& form : forms) {
    write("ids.weights.npy", npy(form.first, "(1, 4)", form.second));
    const auto routing = load("file:" + ids, 1, 4, 4);
    ASSERT_TRUE(routing) << routing.error().message;
    EXPECT_EQ(routing->weights, expected) << form.first;
  }
  const std::string named = write("w.csv", "1,2,3,4\n");
  EXPECT_EQ(load("file:" + ids + ",weights=" + named, 1, 4, 4)->weights,
            (std::vector<float>{1, 2, 3, 0}));
}

TEST_F(Recorded, WrongFilesAreRefusedByPlaceAndValue) {
  struct Refusal {
    const char* name;
    std::string bytes;
    std::vector<const char*> says;
  };
  const std::string good = npy("<i4", "(2, 2)", raw(Ids{0, 1, 2, 3}));
  const std::vector<Refusal> refusals = {
      {"word.csv", "0,1\n2,x3\n", {"word.csv', line 2", "'x3' is not a number"}},
      {"ragged.csv", "0,1\n\n2\n", {"ragged.csv', line 3", "1 numbers where line 1 has 2"}},
      {"big.csv", "0,1\n2,8\n", {"big.csv', line 2, slot 1", "8 is not an expert id", "0 to 7"}},
      {"low.csv", "0,1\n-2,3\n", {"low.csv', line 2, slot 0", "-2 is not an expert id"}},
      {"frac.csv", "0,1\n2,3.5\n", {"line 2, slot 1", "3.5 is not an expert id"}},
      {"nan.csv", "0,1\n2,nan\n", {"line 2, slot 1", "nan is not an expert id"}},
      {"twice.csv", "0,1\n5,5\n", {"line 2, slot 1", "expert 5 appears twice"}},
      {"wide.csv", "0,1,2\n3,4,5\n", {"wide.csv' holds 3 columns", "top-2 needs 2 ids"}},
      {"inf.csv", "0,1,1,1\n2,3,1e300,1\n", {"inf.csv', line 2, slot 0", "is not a finite"}},
      {"empty.csv", "", {"empty.csv' holds 0 tokens"}},
      {"names.csv", "a,b\nc,d\n", {"names.csv', line 2", "'c' is not a number"}},
      {"big.npy",
       npy("<i4", "(2, 2)", raw(Ids{0, 1, 99, 3})),
       {"big.npy', token 1, slot 0", "99 is not"}},
      {"cut.npy",
       good.substr(0, good.size() - 1),
       {"holds 15 bytes of numbers where its header says 16"}},
      {"head.npy", good.substr(0, 40), {"cut short inside the header"}},
      {"tiny.npy", good.substr(0, 9), {"not a .npy file"}},
      {"v9.npy", npy("<i4", "(2, 2)", raw(Ids{0, 1, 2, 3}), 9), {"format version 9 is not known"}},
      {"order.npy", npy("<i4", "(2, 2)", raw(Ids{0, 1, 2, 3}), 1, "True"), {"Fortran order"}},
      {"endian.npy",
       npy(">i4", "(2, 2)", raw(Ids{0, 1, 2, 3})),
       {"element type '>i4' is not read"}},
      {"cplx.npy", npy("<c8", "(1, 2)", raw(Ids{0, 1, 2, 3})), {"element type '<c8' is not read"}},
      {"dims.npy", npy("<i4", "(1, 1, 2, 2)", raw(Ids{0, 1, 2, 3})), {"its shape is not"}},
      {"huge.npy", npy("<i4", "(4611686018427387904, 4)", ""), {"does not fit 63 bits"}},
      {"noshape.npy", npy("<i4", "7", raw(Ids{0, 1, 2, 3})), {"its shape is not"}}};
  for (const Refusal& refusal : refusals) {
    const auto routing = load("file:" + write(refusal.name, refusal.bytes), 2, 2, 8);
    ASSERT_FALSE(routing) << refusal.name;
    for (const char* part : refusal.says) {
      EXPECT_NE(routing.error().message.find(part), std::string::npos)
          << refusal.name << ": " << routing.error().message;
    }
  }
}

TEST_F(Recorded, AFolderIsNotARouting) {
  const auto routing = load("file:" + folder_.string(), 1, 1, 1);
  ASSERT_FALSE(routing);
  EXPECT_EQ(routing.error().code, ErrorCode::kSystem);
}

}  // namespace
}  // namespace shunt::routing
