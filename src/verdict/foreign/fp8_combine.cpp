// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "verdict/foreign/fp8_combine.hpp"

#include <cmath>

#include "logs/arithmetic.hpp"

namespace shunt::verdict::foreign {

using logs::Operation;
using logs::Path;
using logs::Sample;

const Sample* fp8_dispatch_of(const logs::Evidence& evidence, const Sample& combine) {
  if (combine.format != "hybridep" || combine.operation != Operation::kCombine ||
      combine.path != Path::kRdma || !combine.rate_gbs) {
    return nullptr;
  }
  const Sample* nvl = nullptr;
  const Sample* dispatch = nullptr;
  const Sample* dispatch_nvl = nullptr;
  for (const Sample& other : evidence.samples) {
    if (other.source.file != combine.source.file || other.run != combine.run ||
        other.rank != combine.rank || other.format != "hybridep") {
      continue;
    }
    const bool same = other.operation == Operation::kCombine && other.span == combine.span &&
                      other.variant == combine.variant;
    if (same && other.path == Path::kNvl) nvl = &other;
    if (other.operation == Operation::kDispatch && other.path == Path::kRdma && other.bytes) {
      dispatch = &other;
    }
    if (other.operation == Operation::kDispatch && other.path == Path::kNvl && other.bytes) {
      dispatch_nvl = &other;
    }
  }
  if (dispatch == nullptr || dispatch->dtype != "fp8") return nullptr;
  // Proof by bytes where they are printed; by the rates' ratio on kernel lines.
  bool scaled = false;
  if (combine.bytes) {
    scaled = std::fabs(*combine.bytes / *dispatch->bytes - 1) < 0.01;
  } else if (nvl != nullptr && nvl->rate_gbs && dispatch_nvl != nullptr) {
    const double kernel = *combine.rate_gbs / *nvl->rate_gbs;
    const double true_ratio = *dispatch->bytes / *dispatch_nvl->bytes;
    scaled = std::fabs(kernel / (true_ratio * logs::kFp8Share) - 1) < 0.04;
  }
  if (!scaled) return nullptr;
  return dispatch;
}

}  // namespace shunt::verdict::foreign
