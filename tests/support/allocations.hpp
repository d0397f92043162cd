// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Counts the allocations of a program, for budgets of hot paths. Linking allocations.cpp replaces
// operator new of the whole program: tests of a budget are programs of their own.
#pragma once

#include <cstdint>

namespace shunt::testing {

/// So far, on all threads.
[[nodiscard]] std::uint64_t allocations();

}  // namespace shunt::testing
