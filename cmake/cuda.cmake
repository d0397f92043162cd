# SPDX-FileCopyrightText: 2026 The shunt authors
# SPDX-License-Identifier: Apache-2.0

# Device code is optional. SHUNT_CUDA tells whether it is built, SHUNT_CUDA_ARCHITECTURES for what.
set(SHUNT_CUDA OFF)
set(SHUNT_CUDA_ARCHITECTURES "90-real;100-real;90-virtual" CACHE STRING
    "CUDA architectures: SASS for sm_90 and sm_100, PTX of compute_90 for what comes later")

if(NOT SHUNT_WITH_CUDA STREQUAL "OFF")
  if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
    find_program(SHUNT_NVCC nvcc PATHS /usr/local/cuda/bin /opt/cuda/bin)
    if(SHUNT_NVCC)
      set(CMAKE_CUDA_COMPILER ${SHUNT_NVCC})
    endif()
  endif()
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    set(CMAKE_CUDA_ARCHITECTURES ${SHUNT_CUDA_ARCHITECTURES})
    enable_language(CUDA)
    # CMake 3.25 does not know that nvcc speaks C++20.
    if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
      set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
      set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
    endif()
    set(CMAKE_CUDA_STANDARD 20)
    set(CMAKE_CUDA_STANDARD_REQUIRED ON)
    set(CMAKE_CUDA_EXTENSIONS OFF)
    find_package(CUDAToolkit REQUIRED)
    set(SHUNT_CUDA ON)
    message(STATUS "CUDA: device code is built by nvcc ${CMAKE_CUDA_COMPILER_VERSION} for "
                   "${SHUNT_CUDA_ARCHITECTURES}")
  elseif(SHUNT_WITH_CUDA STREQUAL "ON")
    message(FATAL_ERROR "SHUNT_WITH_CUDA is ON and no nvcc was found; put it on PATH, set CUDACXX, or "
                        "configure with -DSHUNT_WITH_CUDA=OFF")
  else()
    message(STATUS "CUDA: nvcc not found, device code is NOT built (CPU executor only)")
  endif()
else()
  message(STATUS "CUDA: switched off (SHUNT_WITH_CUDA=OFF), device code is NOT built")
endif()

# All folders with device code: what the preset cuda-compile builds.
add_custom_target(device_code)

# shunt_cuda_sources(<folder> SOURCES a.cu ... [ARCHITECTURES ...] [LINK ...]): adds device code to
# the target of a folder; nothing where there is no nvcc. SHUNT_HAVE_CUDA=1 is defined for the folder
# and for what links it. ARCHITECTURES replaces the default list for the whole folder: code that uses
# the features of one generation says 90a-real, and keeps a portable path for the others.
function(shunt_cuda_sources name)
  cmake_parse_arguments(ARG "" "" "SOURCES;ARCHITECTURES;LINK" ${ARGN})
  if(NOT SHUNT_CUDA)
    return()
  endif()
  target_sources(shunt_${name} PRIVATE ${ARG_SOURCES})
  add_dependencies(device_code shunt_${name})
  target_compile_definitions(shunt_${name} PUBLIC SHUNT_HAVE_CUDA=1)
  target_compile_options(shunt_${name} PRIVATE
    $<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr;--extended-lambda;-lineinfo>)
  target_link_libraries(shunt_${name} PUBLIC CUDA::cudart ${ARG_LINK})
  if(ARG_ARCHITECTURES)
    set_target_properties(shunt_${name} PROPERTIES CUDA_ARCHITECTURES "${ARG_ARCHITECTURES}")
  endif()
endfunction()
