// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// What launchers, loggers and mail put before a record. Used by document.cpp only.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shunt::logs {

struct Prefixed {
  std::string text;
  std::optional<int> rank;
};

/// Removes quote marks, time stamps and launcher prefixes (Open MPI tags, srun labels, torchrun,
/// `[rank 3]`), notes the rank they name, and splits where a second record is glued to the first.
[[nodiscard]] std::vector<Prefixed> split_records(std::string_view text);

/// End of "worker-0-abc: " or "worker-0 | " at the start, 0 if none is there. One line alone may be
/// a name with its value: the caller removes it only where almost all lines of a text start so.
[[nodiscard]] std::size_t host_prefix_end(std::string_view text);

}  // namespace shunt::logs
