// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// A stranger's program: sees only what is installed.
#include <cstdio>

#include <shunt/error.hpp>
#include <shunt/result.hpp>
#include <shunt/types.hpp>

int main() {
  const shunt::Result<int> nothing =
      tl::make_unexpected(shunt::Error{shunt::ErrorCode::kTimeout, {}, "a wait expired", 0});
  std::printf("shunt: %s, %s\n",
              shunt::to_string(shunt::DType::kBF16),
              nothing.error().to_string().c_str());
  return nothing.error().to_string().empty() ? 1 : 0;
}
