// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Every reader, one function a format family; registry.cpp fixes their order.
#pragma once

#include "logs/reader.hpp"

namespace shunt::logs {

void read_deepep(const Document& document, Sink& sink);
void read_topology(const Document& document, Sink& sink);

}  // namespace shunt::logs
