// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "profile/run_json.hpp"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "profile/rank_log.hpp"
#include "profile/run_reader.hpp"
#include "sample_run.hpp"
#include "support/temporary_directory.hpp"

namespace shunt::profile {
namespace {

using ::testing::HasSubstr;
using testing::spill;
using testing::TemporaryDirectory;

/// A run with a value that is no default in every field.
RunInfo full_run() {
  RunInfo run = make_run(2, 2);
  run.run_id = std::numeric_limits<std::uint64_t>::max();
  run.progress = {{3, 1, 11, 22, 33, 44, 55, 66, 77, 88}};
  run.config = {1024,        7168,
                8,           256,
                DType::kF16, DType::kF32,
                "zipf:1.2",  0xffff'ffff'ffff'fffeU,
                64,          16,
                4,           3,
                2,           8,
                20,          5,
                3,           "v1",
                "cpu",       "local",
                "net",       "pinned (why)",
                125e6,       2,
                true,        25'000,
                9000,        {"shunt", "bench", "--routing", "a \"b\" ü"}};
  traffic::Ledger ledger{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  for (int rank = 0; rank < 4; ++rank) {
    ledger.tokens = static_cast<std::uint64_t>(1000 + rank);
    run.ledgers.push_back(ledger);
  }
  run.operations = {{0, record::Phase::kDispatch, 0, true},
                    {1, record::Phase::kCombine, 0, true},
                    {2, record::Phase::kDispatch, 1, false}};
  run.clocks[3] = {3, -123456789012, 0.25, 42, 900};
  run.counters = {{0, 1, "tbf queue discipline", 1'000'000'007, 1234, 99, 3},
                  {1, -1, "x", 5, 6, {}, {}}};
  run.dropped_records = {0, 1, 2, 3};
  run.correctness = {true, 4096, 1, 0.125, 2};
  return run;
}

TEST(RunJson, EveryFieldComesBack) {
  const RunInfo run = full_run();
  const std::string text = to_json(run);
  const auto again = from_json(text, "run.json");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(to_json(*again), text);
  EXPECT_EQ(again->run_id, run.run_id);
  EXPECT_EQ(again->config.seed, run.config.seed);
  EXPECT_EQ(again->config.dtype, DType::kF16);
  EXPECT_EQ(again->config.wire_dtype, DType::kF32);
  EXPECT_EQ(again->config.link_rate_bytes_per_s, 125e6);
  EXPECT_EQ(again->config.command_line, run.config.command_line);
  EXPECT_EQ(again->ledgers, run.ledgers);
  ASSERT_TRUE(again->progress);
  EXPECT_EQ(again->progress->at(0).thread, 1);
  EXPECT_EQ(again->progress->at(0).largest_poll_gap_ns, 88U);
  EXPECT_EQ(again->operations[1].kind, record::Phase::kCombine);
  EXPECT_EQ(again->clocks[3].offset_ns, -123456789012);
  EXPECT_EQ(again->counters[0].source, "tbf queue discipline");
  EXPECT_EQ(again->dropped_records, run.dropped_records);
  EXPECT_EQ(again->correctness.combine_mismatches, 2U);
}

TEST(RunJson, NoFieldKeepsItsDefaultInTheFullRun) {
  // Guards the test above: a field that both directions forget would pass it.
  const auto full = nlohmann::json::parse(to_json(full_run()));
  const auto empty = nlohmann::json::parse(to_json(RunInfo{}));
  for (const char* part : {"config", "correctness"}) {
    for (const auto& [key, value] : full.at(part).items()) {
      EXPECT_NE(value, empty.at(part).at(key)) << part << "." << key;
    }
  }
  EXPECT_EQ(full.at("config").size(), 28U) << "RunConfig has 28 members; extend fields() with it";
  EXPECT_EQ(full.at("ledgers").at(0).size(), 12U);
  EXPECT_EQ(full.at("progress").at(0).size(), 10U);
}

TEST(RunJson, EachMissingOrWrongFieldIsNamed) {
  const auto full = nlohmann::json::parse(to_json(full_run()));
  const auto refused = [](const nlohmann::json& json) {
    const auto run = from_json(json.dump(), "dir/run.json");
    EXPECT_FALSE(run);
    if (run) return std::string();
    EXPECT_EQ(run.error().code, ErrorCode::kCorrupt);
    EXPECT_THAT(run.error().message, HasSubstr("dir/run.json"));
    return run.error().message;
  };
  for (const auto& [key, value] : full.items()) {
    nlohmann::json json = full;
    json.erase(key);
    if (key == "progress") {
      // Not known, as in runs of one node.
      EXPECT_TRUE(from_json(json.dump(), "dir/run.json"));
    } else {
      EXPECT_THAT(refused(json), HasSubstr(key == "schema" ? "no schema" : key + " is missing"));
    }
    json[key] = 1.5;
    EXPECT_THAT(refused(json), HasSubstr(key));
  }
  for (const auto& [key, value] : full.at("config").items()) {
    nlohmann::json json = full;
    json["config"].erase(key);
    if (key == "link_rate_bytes_per_s" || key == "link_burst_bytes" || key == "recorded_every" ||
        key == "nics_per_node" || key == "staging" || key == "proxy_threads") {
      EXPECT_TRUE(from_json(json.dump(), "old/run.json")) << "an older writer may lack " << key;
      continue;
    }
    EXPECT_THAT(refused(json), HasSubstr("config." + key + " is missing"));
  }
  // A run whose ranks had one thread each, before there could be more.
  nlohmann::json json = full;
  json["progress"][0].erase("thread");
  const auto old = from_json(json.dump(), "old/run.json");
  ASSERT_TRUE(old) << old.error().message;
  EXPECT_EQ(old->progress->at(0).thread, std::nullopt);
  json = full;
  json["config"]["topk"] = 5'000'000'000;
  EXPECT_THAT(refused(json), HasSubstr("config.topk: expected an integer in range"));
  json = full;
  json["config"]["seed"] = -1;
  EXPECT_THAT(refused(json), HasSubstr("config.seed"));
  json = full;
  json["operations"][2]["kind"] = "gather";
  EXPECT_THAT(refused(json), HasSubstr("operations[2].kind: expected the name of a phase"));
  json = full;
  json["clocks"][0]["rank"] = 4;
  EXPECT_THAT(refused(json), HasSubstr("rank 4 is outside of a world of 4"));
  json = full;
  json["shape"]["nodes"] = 3;
  EXPECT_THAT(refused(json), HasSubstr("3 nodes of 2 ranks cannot be a world of 4"));
  json = full;
  json["schema"] = "shunt.run/2";
  EXPECT_THAT(refused(json), HasSubstr("shunt.run/2; this program reads shunt.run/1"));
}

TEST(RunJson, KeysOfLaterVersionsAreIgnored) {
  auto json = nlohmann::json::parse(to_json(full_run()));
  json["later"] = {{"a", 1}};
  json["config"]["later"] = nullptr;
  EXPECT_TRUE(from_json(json.dump(), "run.json"));
}

TEST(RunJson, IsRefusedWhereverItIsCut) {
  const std::string text = to_json(full_run());
  for (std::size_t length = 0; length + 2 < text.size(); ++length) {
    ASSERT_FALSE(from_json(text.substr(0, length), "run.json")) << length;
  }
}

TEST(RunJson, BytesThatAreNoTextDoNotBreakIt) {
  RunInfo run = full_run();
  run.config.command_line = {"\xff\xfe", "ok"};
  const auto again = from_json(to_json(run), "run.json");
  ASSERT_TRUE(again);
  EXPECT_EQ(again->config.command_line[1], "ok");
}

TEST(RunJson, ADirectoryWithoutOneIsRefusedByName) {
  const TemporaryDirectory scratch;
  Seen seen;
  const auto run = read_run(scratch.path(), seen);
  ASSERT_FALSE(run);
  EXPECT_THAT(run.error().to_string(), HasSubstr("run.json: No such file"));
}

TEST(RunWriter, TakesANewOrEmptyDirectoryOnly) {
  const TemporaryDirectory scratch;
  EXPECT_TRUE(RunWriter::create(scratch.file("new/"), Existing::kRefuse));
  EXPECT_TRUE(RunWriter::create(scratch.file("new"), Existing::kRefuse)) << "empty";
  EXPECT_FALSE(RunWriter::create(scratch.file("no/parent"), Existing::kRefuse));
  EXPECT_FALSE(RunWriter::create("", Existing::kRefuse));
  spill(scratch.file("file"), "x");
  EXPECT_FALSE(RunWriter::create(scratch.file("file"), Existing::kReplace));
  spill(scratch.file("new/notes.txt"), "mine");
  for (const Existing existing : {Existing::kRefuse, Existing::kReplace}) {
    const auto writer = RunWriter::create(scratch.file("new"), existing);
    ASSERT_FALSE(writer);
    EXPECT_EQ(writer.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(writer.error().message, HasSubstr("notes.txt"));
  }
  EXPECT_EQ(testing::slurp(scratch.file("new/notes.txt")), "mine");
}

TEST(RunWriter, ReplacesAFormerRunOnlyWhenToldAndNothingElse) {
  const TemporaryDirectory scratch;
  const std::string path = scratch.file("run");
  auto writer = RunWriter::create(path, Existing::kRefuse);
  ASSERT_TRUE(writer);
  ASSERT_TRUE(writer->write_info(make_run(1, 1)));
  ASSERT_TRUE(RankLog::create(path, 0, 1, 1));
  const auto refused = RunWriter::create(path, Existing::kRefuse);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("--force"));

  spill(path + "/rank-00001.rec.bak", "mine");
  EXPECT_FALSE(RunWriter::create(path, Existing::kReplace));
  EXPECT_TRUE(std::filesystem::exists(path + "/rank-00000.rec")) << "nothing was touched";
  std::filesystem::remove(path + "/rank-00001.rec.bak");

  EXPECT_TRUE(RunWriter::create(path, Existing::kReplace));
  EXPECT_TRUE(std::filesystem::is_empty(path));

  spill(path + "/run.json", "{\"name\": \"somebody else's run.json\"}");
  EXPECT_FALSE(RunWriter::create(path, Existing::kReplace));
  EXPECT_TRUE(std::filesystem::exists(path + "/run.json"));
}

}  // namespace
}  // namespace shunt::profile
