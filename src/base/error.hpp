// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Makers of Error values. in: code, scope, fmt text → out: Unexpected, ready to `return`.
#pragma once

#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "shunt/result.hpp"

namespace shunt {

/// `return fail(ErrorCode::kTimeout, ErrorScope::kPeer, "... {}", x);`
template <typename... Args>
[[nodiscard]] Unexpected fail(ErrorCode code,
                              ErrorScope scope,
                              fmt::format_string<Args...> text,
                              Args&&... args) {
  return Unexpected(Error{code, scope, fmt::format(text, std::forward<Args>(args)...), 0});
}

/// A value of the caller's is not allowed: say which, and what is.
template <typename... Args>
[[nodiscard]] Unexpected usage_error(fmt::format_string<Args...> text, Args&&... args) {
  return fail(ErrorCode::kInvalidArgument, ErrorScope::kUsage, text, std::forward<Args>(args)...);
}

/// A system call failed with `sys` (errno, saved by the caller before anything can change it).
template <typename... Args>
[[nodiscard]] Unexpected system_error(int sys, fmt::format_string<Args...> text, Args&&... args) {
  return Unexpected(Error{ErrorCode::kSystem,
                          ErrorScope::kOperation,
                          fmt::format(text, std::forward<Args>(args)...),
                          sys});
}

}  // namespace shunt

/// Leaves the enclosing function with the error of `expression` (a Result) if it has one.
#define SHUNT_TRY(expression)                                          \
  do {                                                                 \
    if (auto shunt_try_result = (expression); !shunt_try_result) {     \
      return ::shunt::Unexpected(std::move(shunt_try_result).error()); \
    }                                                                  \
  } while (false)
