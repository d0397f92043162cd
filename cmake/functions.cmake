# SPDX-FileCopyrightText: 2026 The shunt authors
# SPDX-License-Identifier: Apache-2.0

# The evidence path builds without fabric, GPU or MPI: these never link (nor include) the others.
set(SHUNT_EVIDENCE_FOLDERS trace logs analysis verdict report)
set(SHUNT_DATA_FOLDERS bootstrap memory fabric exec dispatch combine engine)

function(shunt_check_layers name)
  foreach(library IN LISTS ARGN)
    if(NOT library MATCHES "^shunt_(.*)$" OR library STREQUAL "shunt_options")
      continue()
    endif()
    set(folder ${CMAKE_MATCH_1})
    if(NOT TARGET ${library})
      message(FATAL_ERROR "src/${name} links ${library}, which does not stand above it in "
                          "src/CMakeLists.txt")
    endif()
    if(name IN_LIST SHUNT_EVIDENCE_FOLDERS AND folder IN_LIST SHUNT_DATA_FOLDERS)
      message(FATAL_ERROR "src/${name} is of the evidence path and may not link ${library}")
    endif()
  endforeach()
endfunction()

# shunt_library(<folder> SOURCES ... LINK ...): the one target of a folder under src/. It may link
# only targets of folders that stand above it in src/CMakeLists.txt.
function(shunt_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  shunt_check_layers(${name} ${ARG_LINK})
  set_property(GLOBAL APPEND PROPERTY SHUNT_FOLDERS ${name})
  if(ARG_SOURCES)
    add_library(shunt_${name} STATIC ${ARG_SOURCES})
    set(scope PUBLIC)
    target_link_libraries(shunt_${name} PRIVATE shunt_options)
  else()
    add_library(shunt_${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(shunt_${name} ${scope} ${PROJECT_SOURCE_DIR}/src
                             ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(shunt_${name} ${scope} ${ARG_LINK})
endfunction()

# shunt_test(<folder> SOURCES ... LINK ... [LABELS ...] [TIMEOUT s] [SERIAL]): one GoogleTest program,
# with each of its tests registered with ctest; SERIAL runs them beside no other test. Labels: cpu
# (the default) runs everywhere; threads runs under tsan too; gpu, multigpu and rdma need that
# hardware; long is left out of CI.
function(shunt_test name)
  cmake_parse_arguments(ARG "SERIAL" "TIMEOUT" "SOURCES;LINK;LABELS" ${ARGN})
  if(NOT ARG_LABELS)
    set(ARG_LABELS cpu)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  add_executable(test_${name} ${ARG_SOURCES})
  target_include_directories(test_${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(test_${name} PRIVATE shunt_options ${ARG_LINK} GTest::gtest
                                             GTest::gtest_main GTest::gmock)
  gtest_discover_tests(test_${name} DISCOVERY_TIMEOUT 60
                       PROPERTIES TIMEOUT ${ARG_TIMEOUT} RUN_SERIAL ${ARG_SERIAL})
  # tests_<label> builds the programs of one label: a preset that runs only those builds only those.
  foreach(label IN LISTS ARG_LABELS)
    if(NOT TARGET tests_${label})
      add_custom_target(tests_${label})
    endif()
    add_dependencies(tests_${label} test_${name})
  endforeach()
  # Not among the PROPERTIES above: gtest_discover_tests flattens a list of labels.
  set(script ${CMAKE_CURRENT_BINARY_DIR}/test_${name}_labels.cmake)
  file(GENERATE OUTPUT ${script} CONTENT
"foreach(test IN LISTS test_${name}_TESTS)
  set_tests_properties(\"\${test}\" PROPERTIES LABELS \"${ARG_LABELS}\")
endforeach()
")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${script})
endfunction()
