// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// shunt: every verb.
#include "cli/verbs.hpp"

#ifdef SHUNT_HAVE_LIBFABRIC
#include <fmt/format.h>
#include <rdma/fabric.h>
#endif

int main(int argc, char** argv) {
  using namespace shunt::cli;
  Program program("shunt",
                  "Expert-parallel dispatch and combine that measures itself, and explains what "
                  "it and other libraries measured.",
                  {"shunt bench --ranks 4 --nodes 2 --check", "shunt analyze run/"});
  add_bench(program);
  add_analyze(program);
  add_compare(program);
  add_export(program);
  add_topo(program);
#ifdef SHUNT_HAVE_LIBFABRIC
  const auto fabric = fi_version();
  program.add_feature(fmt::format("libfabric {}.{}", FI_MAJOR(fabric), FI_MINOR(fabric)));
#endif
  return program.run(argc, argv);
}
