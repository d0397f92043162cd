# SPDX-FileCopyrightText: 2026 The shunt authors
# SPDX-License-Identifier: Apache-2.0
# -DROOT=<source tree>. A folder of src/ includes only itself and what stands above it in
# src/CMakeLists.txt; the evidence path includes nothing of the data path; every source file carries
# its licence and stays below 800 lines; a public header includes public headers only; no algorithm that
# returns a subrange, which clang 14 does not compile.
cmake_minimum_required(VERSION 3.25)
file(READ ${ROOT}/src/CMakeLists.txt list)
string(REGEX MATCH "set\\(folders([^)]*)\\)" _ "${list}")
string(REGEX MATCHALL "[a-z]+" order "${CMAKE_MATCH_1}")
set(evidence trace logs analysis verdict report)
set(data bootstrap memory fabric exec dispatch combine engine)
set(violations)
list(LENGTH order count)
if(count LESS 20)
  message(FATAL_ERROR "the order of folders was not found in src/CMakeLists.txt")
endif()

file(GLOB_RECURSE sources RELATIVE ${ROOT}
     ${ROOT}/src/*.hpp ${ROOT}/src/*.cpp ${ROOT}/src/*.cu ${ROOT}/src/*.cuh ${ROOT}/include/*.hpp
     ${ROOT}/include/*.h ${ROOT}/tests/*.cpp ${ROOT}/tests/*.hpp ${ROOT}/bench/*.cpp
     ${ROOT}/bench/*.cu ${ROOT}/examples/*.cpp ${ROOT}/examples/*.c ${ROOT}/tests/*.c
     ${ROOT}/tests/*.cu)
foreach(source IN LISTS sources)
  file(STRINGS ${ROOT}/${source} head LIMIT_COUNT 2 ENCODING UTF-8)
  if(NOT head MATCHES "SPDX-FileCopyrightText.*SPDX-License-Identifier: Apache-2.0")
    list(APPEND violations "${source}: the two SPDX lines are missing")
  endif()
  file(READ ${ROOT}/${source} content)
  string(REGEX MATCHALL "\n" newlines "${content}")
  list(LENGTH newlines lines)
  if(lines GREATER 800)
    list(APPEND violations "${source}: ${lines} lines; split it (at most 800)")
  endif()
  if(content MATCHES "ranges::(unique|remove|remove_if|search|equal_range|partition|rotate)[(]")
    list(APPEND violations "${source}: clang 14 does not compile ranges::${CMAKE_MATCH_1}")
  endif()
  string(REGEX MATCHALL "\n#include \"[^\"]+" includes "${content}")
  foreach(include IN LISTS includes)
    string(REGEX REPLACE "\n#include \"" "" include "${include}")
    string(REGEX MATCH "^[^/]+" to "${include}")
    if(source MATCHES "^include/" AND NOT include MATCHES "^shunt/")
      list(APPEND violations "${source}: a public header includes ${include}")
    elseif(source MATCHES "^src/([^/]+)/" AND to IN_LIST order)
      set(from ${CMAKE_MATCH_1})
      list(FIND order ${from} from_index)
      list(FIND order ${to} to_index)
      if(to_index GREATER from_index)
        list(APPEND violations "${source}: ${include} does not stand above ${from}")
      elseif(from IN_LIST evidence AND to IN_LIST data)
        list(APPEND violations "${source}: ${include} is of the data path")
      endif()
    endif()
  endforeach()
endforeach()
if(violations)
  list(JOIN violations "\n  " text)
  message(FATAL_ERROR "rules of the tree are broken:\n  ${text}")
endif()
