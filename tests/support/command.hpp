// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/wait.h>

#include <cstdlib>
#include <string>

#include "support/temporary_directory.hpp"

namespace shunt::testing {

struct Outcome {
  int status = -1;  ///< Exit status, −signal if it was killed.
  std::string out;
  std::string err;
};

/// Runs a shell command to its end.
inline Outcome run_command(const std::string& command) {
  const TemporaryDirectory scratch;
  const std::string redirected = "( " + command + " ) > " + scratch.file("out") + " 2> " +
                                 scratch.file("err") + " < /dev/null";
  const int status = std::system(redirected.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status),
          slurp(scratch.file("out")),
          slurp(scratch.file("err"))};
}

}  // namespace shunt::testing
