// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/program.hpp"

namespace shunt::cli {

// One function a verb, each in the file of its name. To add a verb: declare it here, list its file
// in CMakeLists.txt, and name it in main.cpp (and analyze_main.cpp if it is of the evidence path).
void add_analyze(Program& program);
void add_compare(Program& program);
void add_bench(Program& program);
void add_export(Program& program);
void add_topo(Program& program);

}  // namespace shunt::cli
