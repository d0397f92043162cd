// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Which experts each token goes to. in: a description ("zipf:1.2", a file) and a seed → out:
// Routing, from which plan/ derives who needs what and traffic/ the ledger.
#pragma once

#include <cstdint>
#include <vector>

namespace shunt::routing {

/// One rank's routing, borrowed: topk_ids[tokens][topk] (global expert, −1 = none) and
/// topk_weights[tokens][topk], both row-major. Expert e lives on rank e / experts_per_rank.
struct RoutingView {
  std::int64_t tokens = 0;
  int topk = 1;
  const std::int32_t* ids = nullptr;
  const float* weights = nullptr;  ///< May be null: no weights travel in the record then.
};

/// One rank's routing, owned.
struct Routing {
  std::int64_t tokens = 0;
  int topk = 1;
  int experts = 1;  ///< Of the whole world.
  std::vector<std::int32_t> ids;
  std::vector<float> weights;

  [[nodiscard]] RoutingView view() const { return {tokens, topk, ids.data(), weights.data()}; }
  friend bool operator==(const Routing&, const Routing&) = default;
};

}  // namespace shunt::routing
