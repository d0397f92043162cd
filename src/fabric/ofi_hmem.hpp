// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// The options of an endpoint that concern memory of devices.
#pragma once

#include "fabric/device_memory.hpp"
#include "fabric/ofi.hpp"

namespace shunt::fabric::ofi {

/// What fi_setopt() returned, as an answer.
[[nodiscard]] DeviceMemoryAnswers::Answer answer_of(int rc);

/// Demands transfers without copies, by whichever option the endpoint knows. Before fi_enable().
void forbid_copies(fid_ep* endpoint);

/// Asks an endpoint that is not enabled; it keeps what it agrees to.
void ask_endpoint(fid_ep* endpoint, DeviceMemoryAnswers* answers);

}  // namespace shunt::fabric::ofi
