// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include <tl/expected.hpp>

#include "shunt/error.hpp"

namespace shunt {

/// A value or the Error that kept it from existing. No exception crosses the library's boundary.
template <typename T>
using Result = tl::expected<T, Error>;

using Status = Result<void>;

using Unexpected = tl::unexpected<Error>;

}  // namespace shunt
