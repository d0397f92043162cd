# SPDX-FileCopyrightText: 2026 The shunt authors
# SPDX-License-Identifier: Apache-2.0

# shunt_library(<folder> SOURCES ... LINK ...): the one target of a folder under src/. It may link
# only targets of folders that stand above it in src/CMakeLists.txt.
function(shunt_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
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

# shunt_test(<folder> SOURCES ... LINK ... [LABELS ...] [TIMEOUT s]): one GoogleTest program, with
# each of its tests registered with ctest.
function(shunt_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;LINK;LABELS" ${ARGN})
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
                       PROPERTIES TIMEOUT ${ARG_TIMEOUT})
  # Not among the PROPERTIES above: gtest_discover_tests flattens a list of labels.
  set(script ${CMAKE_CURRENT_BINARY_DIR}/test_${name}_labels.cmake)
  file(GENERATE OUTPUT ${script} CONTENT
"foreach(test IN LISTS test_${name}_TESTS)
  set_tests_properties(\"\${test}\" PROPERTIES LABELS \"${ARG_LABELS}\")
endforeach()
")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${script})
endfunction()
