// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// run.json and back: docs/formats/run-directory.md, schema "shunt.run/1".
#pragma once

#include <string>
#include <string_view>

#include "profile/recording.hpp"
#include "profile/run.hpp"
#include "shunt/result.hpp"

namespace shunt::profile {

/// Every field, indented for people, with a final newline.
[[nodiscard]] std::string to_json(const RunInfo& info);

/// Unknown keys are ignored (the schema grows by adding); a missing or wrong one is kCorrupt and
/// named by its path ("config.hidden"). `name` is what messages call the text.
[[nodiscard]] Result<RunInfo> from_json(std::string_view text, const std::string& name);

/// A run with the state of its ranks' files, as an exported trace carries it ("shunt.export/1"):
/// one line.
[[nodiscard]] std::string to_json(const RecordingSummary& summary);
/// Refuses what contradicts itself, and other than one entry a rank.
[[nodiscard]] Result<RecordingSummary> summary_from_json(std::string_view text,
                                                         const std::string& name);

/// from_json() of `directory`/run.json.
[[nodiscard]] Result<RunInfo> read_run_info(const std::string& directory);

}  // namespace shunt::profile
