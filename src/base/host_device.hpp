// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Marks plain arithmetic that host code and kernels share.
#pragma once

#if defined(__CUDACC__) || defined(__HIPCC__)
#define SHUNT_HOST_DEVICE __host__ __device__
#else
#define SHUNT_HOST_DEVICE
#endif
