// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Routings recorded from a model. in: .npy or .csv of ids, weights beside → out: Routing.
#pragma once

#include "routing/routing.hpp"
#include "routing/spec.hpp"
#include "shunt/result.hpp"

namespace shunt::routing {

/// Fills `routing`'s ids and weights (empty if none were recorded) from spec.path. REQUIRES tokens,
/// topk and experts of `routing` set.
///
/// .npy (any integer type; recognised by content): [tokens][topk], [ranks][tokens][topk], or
/// [tokens] for top-1. .csv: one token a line, topk ids, or topk ids then topk weights, separated
/// by commas, blanks or tabs; a first line of names and lines that start with # are skipped.
/// Weights stand in spec.weights_path, else beside: ids.npy → ids.weights.npy.
///
/// Rank r reads slice r of a 3-dimensional array; of a flat list the tokens [r · tokens, (r+1) ·
/// tokens); with "{rank}" in the path, the first tokens of its own file. An id outside [−1,
/// experts), an expert twice in one token, or too few tokens are refused by file, place and value.
[[nodiscard]] Status load_recorded(const RoutingSpec& spec, int rank, Routing& routing);

}  // namespace shunt::routing
