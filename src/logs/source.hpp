// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

namespace shunt::logs {

/// Where a fact was read: every fact has one, every finding quotes it.
struct Source {
  int file = 0;          ///< Index into Evidence::files; −1: an option of our command line.
  std::size_t line = 0;  ///< From 1; 0: the file as a whole.
  std::string text;      ///< The cleaned line, cut at 200 bytes.
};

}  // namespace shunt::logs
