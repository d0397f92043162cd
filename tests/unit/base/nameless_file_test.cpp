// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "base/nameless_file.hpp"

#include <filesystem>
#include <optional>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "support/temporary_directory.hpp"

namespace shunt {
namespace {

using ::testing::HasSubstr;
using testing::slurp;
using testing::TemporaryDirectory;

/// TMPDIR as a test wants it, and as it was afterwards.
class NamelessFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const char* was = ::getenv("TMPDIR"); was != nullptr) before_ = was;
  }
  void TearDown() override {
    if (before_) {
      ::setenv("TMPDIR", before_->c_str(), 1);
    } else {
      ::unsetenv("TMPDIR");
    }
  }

  std::optional<std::string> before_;
};

TEST_F(NamelessFiles, HoldWhatWasWrittenAndLeaveNothingBehind) {
  const TemporaryDirectory scratch;
  ::setenv("TMPDIR", scratch.path().c_str(), 1);
  auto made = NamelessFile::create();
  ASSERT_TRUE(made);
  EXPECT_TRUE(std::filesystem::is_empty(scratch.path()));
  NamelessFile file = std::move(*made);
  ASSERT_TRUE(file.append("one "));
  ASSERT_TRUE(file.append(std::string(300'000, 'x')));
  for (int again = 0; again < 2; ++again) {
    EXPECT_EQ(slurp(file.path()), "one " + std::string(300'000, 'x'));
  }
  EXPECT_TRUE(std::filesystem::is_empty(scratch.path()));
}

TEST_F(NamelessFiles, NameTheFolderThatCannotBeWritten) {
  const TemporaryDirectory scratch;
  const std::string none = scratch.file("none");
  ::setenv("TMPDIR", none.c_str(), 1);
  const auto file = NamelessFile::create();
  ASSERT_FALSE(file);
  EXPECT_THAT(file.error().to_string(), HasSubstr(none));
  EXPECT_THAT(file.error().to_string(), HasSubstr("set TMPDIR"));
  ::unsetenv("TMPDIR");
  EXPECT_TRUE(NamelessFile::create());
}

}  // namespace
}  // namespace shunt
