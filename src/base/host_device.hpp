// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Marks code that host and kernels share. SHUNT_HOST_DEVICE: plain arithmetic, for both at once.
// SHUNT_DEVICE: text written over an executor, for the machine of the file that includes it.
#pragma once

#if defined(__CUDACC__) || defined(__HIPCC__)
#define SHUNT_HOST_DEVICE __host__ __device__
#define SHUNT_DEVICE __device__
#else
#define SHUNT_HOST_DEVICE
#define SHUNT_DEVICE
#endif
