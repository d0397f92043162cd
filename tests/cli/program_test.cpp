// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// The programs from outside: statuses, messages, files.
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "profile/rank_log.hpp"
#include "support/command.hpp"
#include "support/temporary_directory.hpp"

namespace shunt {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using testing::Outcome;
using testing::run_command;
using ::testing::StartsWith;
using testing::TemporaryDirectory;

Outcome shunt_command(const std::string& arguments) {
  return run_command(std::string(SHUNT_PROGRAM) + " " + arguments);
}

/// One line, from us, that names what it is about; nothing on stdout.
void expect_refused(const Outcome& outcome, int status, const std::string& about) {
  EXPECT_EQ(outcome.status, status) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, StartsWith("shunt: "));
  EXPECT_THAT(outcome.err, HasSubstr(about));
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
}

void write_run(const std::string& path, bool finish) {
  profile::RunInfo run;
  run.finished = true;
  auto writer = profile::RunWriter::create(path, profile::Existing::kRefuse);
  ASSERT_TRUE(writer);
  ASSERT_TRUE(writer->write_info(run));
  auto log = profile::RankLog::create(path, 0, 1, 0);
  ASSERT_TRUE(log);
  record::Recorder recorder(64);
  record::Span span;
  span.begin_ns = 1000;
  span.end_ns = 2000;
  span.phase = record::Phase::kDispatch;
  recorder.add_lane()->push(span);
  if (finish) {
    ASSERT_TRUE(log->finish(recorder));
  } else {
    ASSERT_TRUE(log->drain(recorder));
  }
}

/// The words that follow `opening` anywhere in `text`, up to the first that is no part of a name.
std::set<std::string> names_after(const std::string& text, const std::string& opening) {
  std::set<std::string> names;
  for (std::size_t at = 0; (at = text.find(opening, at)) != std::string::npos;) {
    at += opening.size();
    std::size_t end = at;
    while (end < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '-')) {
      ++end;
    }
    names.insert(text.substr(at, end - at));
  }
  return names;
}

TEST(Documentation, EveryOptionOfEveryVerbHasItsRowAndNoOtherHas) {
  const std::string help = shunt_command("--help").out;
  const std::size_t list = help.find("Subcommands:\n");
  ASSERT_NE(list, std::string::npos) << help;
  const std::set<std::string> verbs = names_after(help.substr(list), "\n  ");
  EXPECT_TRUE(verbs.count("bench") == 1 && verbs.count("analyze") == 1) << help;
  for (const std::string& verb : verbs) {
    if (verb.empty()) continue;
    // "  --name", "  -h,--help", and the rows "| `--name".
    const std::string text = shunt_command(verb + " --help").out;
    std::set<std::string> offered = names_after(text, "\n  --");
    offered.merge(names_after(text, "\n  -o,--"));
    const std::string page = testing::slurp(std::string(SHUNT_CLI_DOCS) + "/" + verb + ".md");
    EXPECT_EQ(names_after(page, "\n| `--"), offered) << "docs/cli/" << verb << ".md";
    EXPECT_THAT(testing::slurp(std::string(SHUNT_CLI_DOCS) + "/README.md"),
                HasSubstr("(" + verb + ".md)"));
    const std::size_t positionals = text.find("Positionals:");
    if (positionals == std::string::npos) continue;
    const std::string block = text.substr(positionals, text.find("Options:") - positionals);
    for (const std::string& name : names_after(block, "\n  ")) {
      EXPECT_TRUE(name.empty() || page.find("`" + name) != std::string::npos)
          << verb << " " << name;
    }
  }
}

TEST(Program, HelpBeginsWithTwoExamples) {
  for (const char* arguments : {"--help", "-h", "export --help"}) {
    const Outcome outcome = shunt_command(arguments);
    EXPECT_EQ(outcome.status, 0) << arguments;
    EXPECT_EQ(outcome.err, "") << arguments;
    EXPECT_THAT(outcome.out, StartsWith("Examples:\n  shunt ")) << arguments;
    const std::string second = outcome.out.substr(outcome.out.find("\n  shunt ") + 3);
    EXPECT_THAT(second, HasSubstr("\n  shunt ")) << arguments;
    EXPECT_THAT(outcome.out, HasSubstr("Usage: shunt")) << arguments;
  }
  EXPECT_THAT(shunt_command("--help").out, HasSubstr("  export "));
  EXPECT_THAT(shunt_command("export --help").out, HasSubstr("--perfetto FILE"));
}

TEST(Program, VersionNamesRevisionAndCompiler) {
  const Outcome outcome = shunt_command("--version");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.out, StartsWith("shunt 0."));
  EXPECT_THAT(outcome.out, HasSubstr("compiler "));
  const Outcome analyze = run_command(std::string(SHUNT_ANALYZE_PROGRAM) + " --version");
  EXPECT_EQ(analyze.status, 0);
  EXPECT_THAT(analyze.out, StartsWith("shunt-analyze 0."));
}

TEST(Program, AWrongCommandLineIsStatusTwoAndOneLine) {
  expect_refused(shunt_command(""), 2, "no verb is given; verbs: ");
  expect_refused(shunt_command("exprot run"), 2, "'exprot' is no verb and no file");
  expect_refused(shunt_command("--colour"), 2, "unknown option '--colour'; verbs: ");
  expect_refused(shunt_command("export"), 2, "DIR is required; 'shunt export --help'");
  expect_refused(shunt_command("export run --speed 3"), 2, "--speed");
  expect_refused(shunt_command("export run --perfetto"), 2, "--perfetto");
  expect_refused(shunt_command("export run"), 2, "give --perfetto FILE or --chrome FILE");
}

TEST(Program, AStandardOutputThatCannotBeWrittenIsAnError) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  const Outcome outcome = shunt_command("--help > /dev/full");
  EXPECT_EQ(outcome.status, 4);
  EXPECT_THAT(outcome.err, HasSubstr("standard output: No space left"));
}

TEST(Program, ExportsARun) {
  const TemporaryDirectory scratch;
  write_run(scratch.file("run"), true);
  const std::string out = scratch.file("t");
  for (const char* program : {SHUNT_PROGRAM, SHUNT_ANALYZE_PROGRAM}) {
    const Outcome outcome =
        run_command(std::string(program) + " export " + scratch.file("run") +
                    " --strict --perfetto " + out + ".pftrace --chrome " + out + ".json");
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(outcome.err, HasSubstr("t.pftrace: 1 spans, 0 puts, 0 arrivals of 1 ranks"));
    EXPECT_THAT(testing::slurp(out + ".json"), HasSubstr("\"name\":\"dispatch\""));
    EXPECT_GT(testing::slurp(out + ".pftrace").size(), 50U);
  }
}

TEST(Program, StandardOutputCanTakeTheTrace) {
  const TemporaryDirectory scratch;
  write_run(scratch.file("run"), true);
  const Outcome outcome =
      shunt_command("export " + scratch.file("run") + " --chrome /dev/stdout | cat");
  EXPECT_THAT(outcome.out, StartsWith("{\"displayTimeUnit\":\"ns\""));
}

TEST(Program, ARunThatWasKilledIsShownAndUnderStrictIsStatusSix) {
  const TemporaryDirectory scratch;
  write_run(scratch.file("run"), false);
  const std::string command = "export " + scratch.file("run") + " --chrome " + scratch.file("t");
  const Outcome lenient = shunt_command(command);
  EXPECT_EQ(lenient.status, 0);
  EXPECT_THAT(lenient.err, HasSubstr("shunt: note: rank 0: its file stops without an end"));
  EXPECT_EQ(shunt_command(command + " --strict").status, 6);
}

TEST(Program, UnreadableInputIsStatusThree) {
  const TemporaryDirectory scratch;
  expect_refused(shunt_command("export " + scratch.file("none") + " --chrome " + scratch.file("t")),
                 3,
                 "none/run.json: No such file or directory");
  std::filesystem::create_directory(scratch.file("run"));
  testing::spill(scratch.file("run/run.json"), "{\"schema\":");
  expect_refused(shunt_command("export " + scratch.file("run") + " --chrome " + scratch.file("t")),
                 3,
                 "run.json is not a JSON object");
  EXPECT_FALSE(std::filesystem::exists(scratch.file("t")));
}

}  // namespace
}  // namespace shunt
