// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// shunt-analyze: the verbs of the evidence path alone. Links no fabric, MPI or device library.
#include "cli/verbs.hpp"

int main(int argc, char** argv) {
  using namespace shunt::cli;
  Program program(
      "shunt-analyze",
      "Reads runs, logs, traces, topologies and counters, and says what they mean.",
      {"shunt-analyze bench.log topo.txt", "shunt-analyze export run/ --perfetto run.pftrace"});
  add_analyze(program);
  add_compare(program);
  add_export(program);
  program.add_feature("evidence path only: no fabric, MPI or devices");
  return program.run(argc, argv);
}
