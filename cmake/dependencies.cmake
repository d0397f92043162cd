# SPDX-FileCopyrightText: 2026 The shunt authors
# SPDX-License-Identifier: Apache-2.0
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(tl-expected REQUIRED)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(ZLIB REQUIRED)
pkg_check_modules(libfabric REQUIRED IMPORTED_TARGET libfabric)
pkg_check_modules(libzstd REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(cairo REQUIRED IMPORTED_TARGET cairo cairo-svg cairo-png)
pkg_check_modules(hwloc REQUIRED IMPORTED_TARGET hwloc)
