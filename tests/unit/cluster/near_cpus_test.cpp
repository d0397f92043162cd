// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "cluster/near_cpus.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/fake_machine.hpp"

namespace shunt::cluster {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// One GPU whose CPUs the machine gives as `cpus`.
class NearCpus : public ::testing::Test {
 protected:
  void machine(const std::string& cpus) const {
    machine_.gpu("pci0000:3a/0000:3a:01.0", "0000:3b:00.0", 1);
    machine_.write("sys/bus/pci/devices/0000:3b:00.0/local_cpulist", cpus);
  }
  [[nodiscard]] Result<Cpus> near(const Cpus& allowed) const {
    return near_cpus("0000:3B:00.0", allowed, machine_.root());
  }
  void expect_none(const Cpus& allowed, const std::string& why) const {
    const auto cpus = near(allowed);
    ASSERT_FALSE(cpus) << format_cpus(*cpus);
    EXPECT_THAT(cpus.error().message, HasSubstr(why));
  }

 private:
  testing::FakeMachine machine_;
};

TEST_F(NearCpus, ThoseThatTheProcessMayUse) {
  machine("4-7,12-15");
  EXPECT_THAT(*near({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}), ElementsAre(4, 5, 6, 7, 12));
  EXPECT_THAT(*near({5, 14}), ElementsAre(5, 14));
}

TEST_F(NearCpus, NoneOrOneAloneBindsNothing) {
  machine("4-7");
  expect_none({0, 1, 2, 3}, "of CPUs 4-7 near device 0000:3b:00.0 this thread may use none");
  expect_none({3, 4}, "one alone");
  expect_none({}, "none");
}

TEST_F(NearCpus, AMachineThatDoesNotSayBindsNothing) {
  expect_none({0, 1}, "sys/bus/pci/devices/0000:3b:00.0/local_cpulist cannot be read");
  machine("");
  expect_none({0, 1}, "of CPUs (none)");
}

TEST_F(NearCpus, AListThatIsNoneBindsNothing) {
  machine("many");
  expect_none({0, 1}, "'many' is no list of CPUs");
}

}  // namespace
}  // namespace shunt::cluster
