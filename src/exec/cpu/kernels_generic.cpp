// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#define SHUNT_KERNELS kGenericKernels
#define SHUNT_KERNELS_NAME "generic"
#include "exec/cpu/kernels_impl.hpp"
