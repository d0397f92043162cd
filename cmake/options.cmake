# SPDX-FileCopyrightText: 2026 The shunt authors
# SPDX-License-Identifier: Apache-2.0
option(SHUNT_BUILD_TESTS "Build the tests" ON)
option(SHUNT_BUILD_BENCH "Build the benchmark programs" ON)
option(SHUNT_BUILD_EXAMPLES "Build the examples" ON)
option(SHUNT_STATIC_ANALYZER "Build shunt-analyze alone, as one static program for any machine" OFF)
option(SHUNT_WERROR "Treat warnings as errors (CI does)" OFF)
set(SHUNT_WITH_CUDA "AUTO" CACHE STRING "Build device code: AUTO (if nvcc is found), ON or OFF")
set(SHUNT_WITH_MPI "AUTO" CACHE STRING "Launch through MPI: AUTO, ON or OFF")
set(SHUNT_FUZZ "OFF" CACHE STRING "Build the libFuzzer programs: AUTO (if the compiler has it), ON or OFF")
set(SHUNT_SANITIZE "" CACHE STRING "Sanitizers, as in -fsanitize=LIST (address,undefined or thread)")

if(SHUNT_STATIC_ANALYZER)
  set(SHUNT_BUILD_TESTS OFF)
  set(SHUNT_BUILD_BENCH OFF)
  set(SHUNT_BUILD_EXAMPLES OFF)
  set(SHUNT_WITH_CUDA OFF)
  set(SHUNT_WITH_MPI OFF)
endif()

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# Nothing here may name a compiler's own option without its language: nvcc reads none of them.
add_library(shunt_options INTERFACE)
target_compile_options(shunt_options INTERFACE
  $<$<COMPILE_LANGUAGE:C,CXX>:-Wall;-Wextra;-Wshadow>
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor;-Wno-missing-field-initializers>
  $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wthread-safety>
  $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra,-Wno-missing-field-initializers>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC bug 105651: false alarms on "literal" + std::string.
  target_compile_options(shunt_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
endif()
if(SHUNT_WERROR)
  target_compile_options(shunt_options INTERFACE
    $<$<COMPILE_LANGUAGE:C,CXX>:-Werror>
    $<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings;-Xcompiler=-Werror>)
endif()
if(SHUNT_SANITIZE)
  add_compile_options(-fsanitize=${SHUNT_SANITIZE} -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=${SHUNT_SANITIZE})
  if(SHUNT_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize-recover=all)
  endif()
endif()
if(SHUNT_FUZZ STREQUAL "AUTO")
  include(CheckCXXSourceCompiles)
  set(CMAKE_REQUIRED_FLAGS -fsanitize=fuzzer)
  check_cxx_source_compiles("extern \"C\" int LLVMFuzzerTestOneInput(const char*, unsigned long) { return 0; }"
                            SHUNT_HAS_LIBFUZZER)
  unset(CMAKE_REQUIRED_FLAGS)
  set(SHUNT_FUZZ ${SHUNT_HAS_LIBFUZZER})
endif()
if(SHUNT_FUZZ)
  # Coverage in every object, so that the fuzzers see the libraries' branches; other programs run
  # the same, the sanitizers' runtime has empty hooks.
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
find_program(SHUNT_CCACHE ccache)
if(SHUNT_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${SHUNT_CCACHE})
endif()
