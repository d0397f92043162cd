// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Seeded damage to every golden input: cut, spliced, flipped, doubled, blown up. Nothing may crash
// or break an invariant of fuzz_entry.cpp.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "fuzz/fuzz_entry.hpp"
#include "logs/reader.hpp"
#include "support/run_files.hpp"
#include "support/temporary_directory.hpp"
#include "trace/export.hpp"

namespace shunt {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> corpus() {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::recursive_directory_iterator(SHUNT_CORPUS)) {
    if (entry.is_regular_file()) paths.push_back(entry.path());
  }
  std::ranges::sort(paths);
  std::vector<std::string> out;
  for (const fs::path& path : paths) {
    std::ifstream file(path, std::ios::binary);
    out.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return out;
}

struct Generator {
  std::uint64_t state;
  std::size_t below(std::size_t n) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return n == 0 ? 0 : static_cast<std::size_t>(state >> 33) % n;
  }
};

std::string damage(const std::string& text, const std::string& other, Generator& random) {
  std::string out = text;
  const std::size_t rounds = 1 + random.below(4);
  for (std::size_t round = 0; round < rounds; ++round) {
    const std::size_t at = random.below(out.size() + 1);
    switch (random.below(7)) {
      case 0:
        out.resize(at);
        break;
      case 1:
        if (at < out.size()) out[at] = static_cast<char>(random.below(256));
        break;
      case 2:
        out.insert(at, other.substr(random.below(other.size() + 1), random.below(200)));
        break;
      case 3:
        out.erase(at, random.below(40));
        break;
      case 4:
        out.insert(at,
                   std::string(random.below(30), "0123456789.,-|[]:\t\r\x1b"[random.below(21)]));
        break;
      case 5:
        if (out.size() < 20000) out += out;
        break;
      default:
        out.insert(at, "99999999999999999999999999e308 GB/s (RDMA)");
        break;
    }
  }
  return out;
}

/// A reader that is added needs a fuzzer of its own.
TEST(Fuzzers, ThereIsOneForEveryReaderAndNoOther) {
  std::set<std::string> fuzzed;
  std::istringstream names(SHUNT_FUZZ_READERS);
  for (std::string name; std::getline(names, name, ',');) fuzzed.insert(name);
  std::set<std::string> readers;
  for (const logs::Reader& reader : logs::readers()) readers.emplace(reader.name);
  EXPECT_EQ(fuzzed, readers);
}

TEST(Mutation, NoDamageBreaksAReader) {
  const auto inputs = corpus();
  ASSERT_GE(inputs.size(), 40U);
  Generator random{20260401};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    fuzz::read_and_judge(inputs[i]);
    fuzz::read_file(inputs[i]);
    for (int round = 0; round < 15; ++round) {
      const std::string damaged = damage(inputs[i], inputs[random.below(inputs.size())], random);
      fuzz::clean(damaged);
      fuzz::read_and_judge(damaged);
      fuzz::read_file(damaged);
    }
  }
}

TEST(Mutation, NoDamageBreaksTheReaderOfExports) {
  const testing::TemporaryDirectory temporary;
  test::SyntheticRun small;
  small.iterations = 2;
  small.chunks = 2;
  ASSERT_TRUE(test::write_run(small, temporary.file("run")));
  const std::string file = temporary.file("run.pftrace");
  ASSERT_TRUE(trace::export_run(temporary.file("run"), trace::Format::kPerfetto, file));
  const std::string bytes = testing::slurp(file);
  ASSERT_GT(bytes.size(), 2000U);
  fuzz::read_export(bytes);
  Generator random{20260402};
  // The description of the run is one JSON object: damage behind it reaches the records.
  const std::size_t head = bytes.size() / 4;
  for (int round = 0; round < 300; ++round) {
    fuzz::read_export(damage(bytes, bytes, random));
    fuzz::read_export(bytes.substr(0, head) + damage(bytes.substr(head), bytes, random));
  }
}

TEST(Mutation, EveryPrefixOfAnInputIsReadable) {
  for (const std::string& input : corpus()) {
    const std::size_t step = std::max<std::size_t>(1, input.size() / 40);
    for (std::size_t n = 0; n <= input.size(); n += step) fuzz::read_and_judge(input.substr(0, n));
  }
}

TEST(Mutation, HugeLinesAndManyLinesTakeLinearTime) {
  fuzz::read_and_judge(std::string(200'000, '['));
  fuzz::read_and_judge(std::string(200'000, '9'));
  std::string tags;
  for (int i = 0; i < 3000; ++i) tags += "[1,0]<stdout>:[tuning] SMs 24, NVL chunk 8";
  fuzz::read_and_judge(tags);
  std::string keys;
  for (int i = 0; i < 3000; ++i) keys += "KEY_" + std::to_string(i) + "=1\n";
  fuzz::read_and_judge(keys);
}

}  // namespace
}  // namespace shunt
