# SPDX-FileCopyrightText: 2026 The shunt authors
# SPDX-License-Identifier: Apache-2.0
# -DSTEP=install|find_package|pkg_config|programs -DBUILD= -DSTAGE= -DLIBDIR= -DBINDIR= -DCC= -DCXX= -DSOURCE=
#   -DGENERATOR=
# -DSTEP=static_analyzer -DSTAGE= -DCXX= -DROOT= -DGENERATOR= -DLAUNCHER=
cmake_minimum_required(VERSION 3.25)
set(prefix ${STAGE}/moved)

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output
                  ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    string(JOIN " " command ${ARGN})
    message(FATAL_ERROR "${command}\nexit status ${status}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

function(run_consumer program printed)
  run(${CMAKE_COMMAND} -E env LD_LIBRARY_PATH=${prefix}/${LIBDIR} ${program})
  if(NOT output MATCHES "^${printed}\n$")
    message(FATAL_ERROR "${program} printed: ${output}")
  endif()
endfunction()

if(STEP STREQUAL "install")
  file(REMOVE_RECURSE ${STAGE})
  run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${STAGE}/first)
  file(RENAME ${STAGE}/first ${prefix})
  file(GLOB_RECURSE texts ${prefix}/*.cmake ${prefix}/*.pc ${prefix}/*.hpp ${prefix}/*.h)
  foreach(text IN LISTS texts)
    file(READ ${text} content)
    string(FIND "${content}" "${BUILD}" found)
    if(NOT found EQUAL -1)
      message(FATAL_ERROR "${text} names the build folder ${BUILD}")
    endif()
  endforeach()
elseif(STEP STREQUAL "find_package")
  # The generator of this build: a machine that has ninja need not have make.
  run(${CMAKE_COMMAND} -S ${SOURCE} -B ${STAGE}/by-cmake -G ${GENERATOR}
      -DCMAKE_C_COMPILER=${CC} -DCMAKE_CXX_COMPILER=${CXX}
      -DCMAKE_PREFIX_PATH=${prefix} -DCMAKE_FIND_PACKAGE_PREFER_CONFIG=ON)
  run(${CMAKE_COMMAND} --build ${STAGE}/by-cmake)
  run_consumer(${STAGE}/by-cmake/consumer "shunt: fp32, sum 1[.]5")
  run_consumer(${STAGE}/by-cmake/consumer_c "shunt: interface [0-9]+, world of 1")
elseif(STEP STREQUAL "pkg_config")
  run(${CMAKE_COMMAND} -E env PKG_CONFIG_PATH=${prefix}/${LIBDIR}/pkgconfig pkg-config --cflags --libs
      shunt)
  string(STRIP "${output}" flags)
  separate_arguments(flags UNIX_COMMAND "${flags}")
  run(${CXX} -std=c++20 ${SOURCE}/consumer.cpp -o ${STAGE}/by-pkg-config ${flags})
  run_consumer(${STAGE}/by-pkg-config "shunt: fp32, sum 1[.]5")
  # As C, linked by the compiler for C++, since the library is that.
  set(object ${STAGE}/by-pkg-config-c)
  run(${CC} -std=c11 -pedantic -c ${SOURCE}/consumer_c.c -o ${object}.o ${flags})
  run(${CXX} ${object}.o -o ${object} ${flags})
  run_consumer(${object} "shunt: interface [0-9]+, world of 1")
elseif(STEP STREQUAL "programs")
  foreach(program shunt shunt-analyze)
    run(${CMAKE_COMMAND} -E env LD_LIBRARY_PATH=${prefix}/${LIBDIR} ${prefix}/${BINDIR}/${program} --version)
    if(NOT output MATCHES "[0-9]+[.][0-9]+[.][0-9]+")
      message(FATAL_ERROR "${program} --version printed: ${output}")
    endif()
  endforeach()
  # The analyser runs where the run did not: no fabric, no GPU, no MPI, not even as a dependency of a
  # dependency.
  run(ldd ${prefix}/${BINDIR}/shunt-analyze)
  string(REGEX MATCH "lib(fabric|ibverbs|rdmacm|cuda|cudart|mpi|mpich)[^ ]*" forbidden "${output}")
  if(forbidden)
    message(FATAL_ERROR "shunt-analyze needs ${forbidden}:\n${output}")
  endif()
elseif(STEP STREQUAL "static_analyzer")
  set(build ${STAGE}-static)
  run(${CMAKE_COMMAND} -S ${ROOT} -B ${build} -G ${GENERATOR} -DCMAKE_BUILD_TYPE=Release
      -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER} -DSHUNT_STATIC_ANALYZER=ON
      -DSHUNT_WERROR=ON)
  run(${CMAKE_COMMAND} --build ${build} --target shunt-analyze)
  # Alone in a folder, with an empty environment and without a loader: nothing but itself.
  set(alone ${STAGE}-alone)
  file(REMOVE_RECURSE ${alone})
  file(COPY ${build}/bin/shunt-analyze DESTINATION ${alone})
  set(program ${alone}/shunt-analyze)
  execute_process(COMMAND ldd ${program} OUTPUT_VARIABLE needs ERROR_VARIABLE needs)
  if(NOT needs MATCHES "not a dynamic executable|statically linked")
    message(FATAL_ERROR "${program} is not static:\n${needs}")
  endif()
  set(golden ${ROOT}/tests/golden/inputs)
  set(analyze env -i ${program} analyze)
  run(${analyze} ${golden}/hybridep-c-16b300-2n-bf16 --html ${alone}/page.html)
  if(NOT output MATCHES "own-node-counted" OR NOT EXISTS ${alone}/page.html)
    message(FATAL_ERROR "the verdict on a log is missing, or its page:\n${output}")
  endif()
  run(${analyze} ${golden}/counters-confirm-perftest --json)
  if(NOT output MATCHES "\"schema\": \"shunt.report/1\"")
    message(FATAL_ERROR "no report as JSON:\n${output}")
  endif()
else()
  message(FATAL_ERROR "STEP is '${STEP}'")
endif()
