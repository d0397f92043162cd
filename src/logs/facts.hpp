// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Figures in sentences. Used by read_prose.cpp only.
#pragma once

#include <cstddef>

#include "logs/reader.hpp"

namespace shunt::logs {

/// Takes rates, spans and the workload that line `i` states.
void read_fact_line(const Document& document, std::size_t i, Sink& sink);

}  // namespace shunt::logs
