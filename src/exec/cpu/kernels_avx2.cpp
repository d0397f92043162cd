// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#define SHUNT_KERNELS kAvx2Kernels
#define SHUNT_KERNELS_NAME "avx2"
#include "exec/cpu/kernels_impl.hpp"
