// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "base/file.hpp"

#include <unistd.h>

#include <filesystem>

#include <gtest/gtest.h>

#include "support/temporary_directory.hpp"

namespace shunt {
namespace {

using testing::slurp;
using testing::spill;
using testing::TemporaryDirectory;

std::size_t entries(const std::string& path) {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(path)) ++count;
  return count;
}

TEST(OutputFile, AppearsWholeOrNotAtAll) {
  const TemporaryDirectory scratch;
  const std::string path = scratch.file("out");
  spill(path, "before");
  {
    auto file = OutputFile::create(path);
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->write(std::string(1'000'000, 'x')));
    EXPECT_EQ(slurp(path), "before");
  }
  EXPECT_EQ(slurp(path), "before");
  EXPECT_EQ(entries(scratch.path()), 1U) << "the temporary file is gone";
  {
    auto file = OutputFile::create(path);
    ASSERT_TRUE(file);
    for (int i = 0; i < 1000; ++i) ASSERT_TRUE(file->write(std::string(700, 'a')));
    ASSERT_TRUE(file->write(std::string(300'000, 'b')));
    ASSERT_TRUE(file->write("c"));
    EXPECT_EQ(file->written(), 1'000'001U);
    ASSERT_TRUE(file->commit());
  }
  EXPECT_EQ(slurp(path), std::string(700'000, 'a') + std::string(300'000, 'b') + "c");
  EXPECT_EQ(entries(scratch.path()), 1U);
}

TEST(OutputFile, ReplacesTheFileBehindALink) {
  const TemporaryDirectory scratch;
  spill(scratch.file("target"), "before");
  ASSERT_EQ(::symlink("target", scratch.file("link").c_str()), 0);
  ASSERT_TRUE(write_file(scratch.file("link"), "after"));
  EXPECT_TRUE(std::filesystem::is_symlink(scratch.file("link")));
  EXPECT_EQ(slurp(scratch.file("target")), "after");
}

TEST(OutputFile, WritesToDevicesAndReportsWhatTheyRefuse) {
  EXPECT_TRUE(write_file("/dev/null", "x"));
  if (::access("/dev/full", W_OK) != 0) GTEST_SKIP() << "no /dev/full here";
  const auto status = write_file("/dev/full", "x");
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().to_string().find("/dev/full: No space left"), std::string::npos);
}

TEST(OutputFile, RefusesADirectoryAndAMissingParent) {
  const TemporaryDirectory scratch;
  EXPECT_FALSE(OutputFile::create(scratch.path()));
  EXPECT_FALSE(OutputFile::create(scratch.file("missing/out")));
}

TEST(ReadFile, RefusesWhatIsLargerThanItsLimit) {
  const TemporaryDirectory scratch;
  spill(scratch.file("in"), std::string(20'000, 'x'));
  ASSERT_TRUE(read_file(scratch.file("in"), 20'000));
  EXPECT_EQ(read_file(scratch.file("in"), 20'000)->size(), 20'000U);
  EXPECT_FALSE(read_file(scratch.file("in"), 19'999));
  EXPECT_FALSE(read_file(scratch.file("none"), 10));
}

}  // namespace
}  // namespace shunt
