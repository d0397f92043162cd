// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// write_seed FILE: a small run's exported trace, for the fuzzer of its reader to start from.
#include <cstdio>
#include <string>

#include "support/run_files.hpp"
#include "support/temporary_directory.hpp"
#include "trace/export.hpp"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: write_seed FILE\n");
    return 2;
  }
  const shunt::testing::TemporaryDirectory temporary;
  const std::string run = temporary.file("run");
  shunt::test::SyntheticRun small;
  small.iterations = 2;
  small.chunks = 2;
  if (!shunt::test::write_run(small, run)) return 1;
  return shunt::trace::export_run(run, shunt::trace::Format::kPerfetto, argv[1]) ? 0 : 1;
}
