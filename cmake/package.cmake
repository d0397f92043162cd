# SPDX-FileCopyrightText: 2026 The shunt authors
# SPDX-License-Identifier: Apache-2.0

# shunt::shunt, what users link: all folders but the command line, as one library; with it a CMake
# package and a pkg-config file that name what a static library drags along.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# How an exported target is found again: the line for shuntConfig.cmake and the module for shunt.pc, or,
# where there is no module, flags for the linker.
function(shunt_dependency target line module)
  set_property(GLOBAL PROPERTY "SHUNT_FIND_${target}" "${line}")
  set_property(GLOBAL PROPERTY "SHUNT_MODULE_${target}" "${module}")
  set_property(GLOBAL PROPERTY "SHUNT_FLAGS_${target}" "${ARGN}")
endfunction()
function(shunt_pkg_config_dependency prefix)
  string(JOIN " " modules ${ARGN})
  shunt_dependency(PkgConfig::${prefix}
    "pkg_check_modules(${prefix} REQUIRED QUIET IMPORTED_TARGET ${modules})" "${modules}")
endfunction()
shunt_dependency(Threads::Threads "find_dependency(Threads)" "")
shunt_dependency(fmt::fmt "find_dependency(fmt)" fmt)
shunt_dependency(spdlog::spdlog "find_dependency(spdlog)" spdlog)
shunt_dependency(ZLIB::ZLIB "find_dependency(ZLIB)" zlib)
shunt_dependency(CUDA::cudart "find_dependency(CUDAToolkit)" ""
  "-L${CUDAToolkit_LIBRARY_DIR}" -lcudart)
shunt_pkg_config_dependency(libfabric libfabric)
shunt_pkg_config_dependency(libzstd libzstd)
shunt_pkg_config_dependency(cairo cairo cairo-png)
shunt_pkg_config_dependency(hwloc hwloc)
shunt_pkg_config_dependency(libnl libnl-3.0 libnl-route-3.0)

add_library(shunt_package)
add_library(shunt::shunt ALIAS shunt_package)
set_target_properties(shunt_package PROPERTIES
  OUTPUT_NAME shunt EXPORT_NAME shunt LINKER_LANGUAGE CXX
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
file(GLOB headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/shunt/*.hpp
     ${PROJECT_SOURCE_DIR}/include/shunt/*.h)
target_sources(shunt_package PUBLIC FILE_SET HEADERS
  BASE_DIRS ${PROJECT_SOURCE_DIR}/include FILES ${headers})
target_compile_features(shunt_package PUBLIC cxx_std_20)

# Only headers of theirs are used: nothing of them is left in the library.
set(header_only tl::expected CLI11::CLI11 nlohmann_json::nlohmann_json)
set(find_lines "find_dependency(tl-expected)")
set(externals)
get_property(folders GLOBAL PROPERTY SHUNT_FOLDERS)
# The programs launch through MPI; a user of the library brings an all-gather of the MPI of their own.
list(REMOVE_ITEM folders cli bootstrap_mpi)
foreach(folder IN LISTS folders)
  get_target_property(type shunt_${folder} TYPE)
  if(type STREQUAL "INTERFACE_LIBRARY")
    get_target_property(links shunt_${folder} INTERFACE_LINK_LIBRARIES)
  else()
    target_sources(shunt_package PRIVATE $<TARGET_OBJECTS:shunt_${folder}>)
    get_target_property(links shunt_${folder} LINK_LIBRARIES)
  endif()
  foreach(link IN LISTS links)
    if(link AND NOT link MATCHES "^shunt_" AND NOT link IN_LIST header_only)
      list(APPEND externals ${link})
    endif()
  endforeach()
endforeach()
list(REMOVE_DUPLICATES externals)

set(modules)
set(plain_libraries -pthread -ldl)
foreach(external IN LISTS externals)
  get_property(known GLOBAL PROPERTY "SHUNT_FIND_${external}" SET)
  if(NOT known)
    if(TARGET ${external})
      message(WARNING "cmake/package.cmake does not know how users find ${external}; add a line")
    else()
      list(APPEND plain_libraries -l${external})
    endif()
    continue()
  endif()
  get_property(line GLOBAL PROPERTY "SHUNT_FIND_${external}")
  get_property(module GLOBAL PROPERTY "SHUNT_MODULE_${external}")
  string(APPEND find_lines "\n${line}")
  get_property(flags GLOBAL PROPERTY "SHUNT_FLAGS_${external}")
  list(APPEND modules ${module})
  list(APPEND plain_libraries ${flags})
endforeach()
if(find_lines MATCHES "pkg_check_modules")
  string(PREPEND find_lines "find_dependency(PkgConfig)\n")
endif()
target_link_libraries(shunt_package PUBLIC tl::expected PRIVATE ${externals} ${CMAKE_DL_LIBS})

get_target_property(type shunt_package TYPE)
string(JOIN " " modules ${modules})
string(JOIN " " plain_libraries ${plain_libraries})
if(type STREQUAL "SHARED_LIBRARY")
  set(SHUNT_FIND_LINES "find_dependency(tl-expected)")
  set(SHUNT_PC_FIELDS "Requires.private: ${modules}\nLibs.private: ${plain_libraries}\nLibs: -L\${libdir} -lshunt")
else()
  set(SHUNT_FIND_LINES "${find_lines}")
  set(SHUNT_PC_FIELDS "Requires: ${modules}\nLibs: -L\${libdir} -lshunt ${plain_libraries}")
endif()

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/shunt)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/shuntConfig.cmake.in
  ${PROJECT_BINARY_DIR}/shuntConfig.cmake INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/shuntConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
# Relative to where the file lies, so that the installed tree can be moved.
file(RELATIVE_PATH pc_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" pc_to_prefix ${pc_to_prefix})
configure_file(${PROJECT_SOURCE_DIR}/cmake/shunt.pc.in ${PROJECT_BINARY_DIR}/shunt.pc @ONLY)

install(TARGETS shunt_package EXPORT shuntTargets FILE_SET HEADERS)
foreach(program shunt shunt-analyze)
  if(TARGET ${program})
    install(TARGETS ${program} RUNTIME)
  endif()
endforeach()
install(EXPORT shuntTargets NAMESPACE shunt:: DESTINATION ${package_folder})
install(FILES ${PROJECT_BINARY_DIR}/shuntConfig.cmake
              ${PROJECT_BINARY_DIR}/shuntConfigVersion.cmake DESTINATION ${package_folder})
install(FILES ${PROJECT_BINARY_DIR}/shunt.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
