// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Private to report/: foreign bytes inside markup.
#pragma once

#include <string>
#include <string_view>

namespace shunt::report {

/// Text for the content or a quoted attribute of HTML and SVG: `& < > " '` become references, bytes
/// that are no UTF-8 and characters that XML forbids become U+FFFD.
[[nodiscard]] std::string escape_markup(std::string_view text);

}  // namespace shunt::report
