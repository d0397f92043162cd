# SPDX-FileCopyrightText: 2026 The shunt authors
# SPDX-License-Identifier: Apache-2.0

# SHUNT_MPIS: the MPIs of this machine, for programs that compare with them or are tested under
# them: openmpi and mpich where pkg-config knows them, else "mpi", the one that CMake has found. For
# each a target shunt_mpi_<name> to link and SHUNT_MPIRUN_<name>, its launcher. Included once src/ has
# looked for MPI.
set(SHUNT_MPIS)
function(shunt_add_mpi name library launcher)
  if(NOT TARGET ${library} OR NOT launcher)
    return()
  endif()
  add_library(shunt_mpi_${name} INTERFACE)
  target_link_libraries(shunt_mpi_${name} INTERFACE ${library})
  # The C interface only.
  target_compile_definitions(shunt_mpi_${name} INTERFACE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
  set(SHUNT_MPIS ${SHUNT_MPIS} ${name} PARENT_SCOPE)
endfunction()

if(NOT SHUNT_WITH_MPI STREQUAL "OFF")
  pkg_check_modules(openmpi QUIET IMPORTED_TARGET ompi-c)
  pkg_check_modules(mpich QUIET IMPORTED_TARGET mpich)
  find_program(SHUNT_MPIRUN_openmpi NAMES mpirun.openmpi orterun)
  find_program(SHUNT_MPIRUN_mpich NAMES mpirun.mpich mpiexec.hydra)
  set(SHUNT_MPIRUN_mpi ${MPIEXEC_EXECUTABLE})
  shunt_add_mpi(openmpi PkgConfig::openmpi "${SHUNT_MPIRUN_openmpi}")
  shunt_add_mpi(mpich PkgConfig::mpich "${SHUNT_MPIRUN_mpich}")
  if(NOT SHUNT_MPIS)
    shunt_add_mpi(mpi MPI::MPI_C "${SHUNT_MPIRUN_mpi}")
  endif()
endif()

# shunt_mpi_test(NAME <name> MPI <one of SHUNT_MPIS> RANKS <n> COMMAND ...): one test of label mpi.
function(shunt_mpi_test)
  cmake_parse_arguments(ARG "" "NAME;MPI;RANKS;TIMEOUT" "COMMAND" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  add_test(NAME ${ARG_NAME} COMMAND ${SHUNT_MPIRUN_${ARG_MPI}} -n ${ARG_RANKS} ${ARG_COMMAND})
  # Open MPI refuses root and more ranks than cores unless told otherwise; others ignore this.
  set_tests_properties(${ARG_NAME} PROPERTIES
    LABELS "cpu;mpi" TIMEOUT ${ARG_TIMEOUT} RUN_SERIAL ON
    ENVIRONMENT "OMPI_ALLOW_RUN_AS_ROOT=1;OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1;OMPI_MCA_rmaps_base_oversubscribe=1;OMPI_MCA_hwloc_base_binding_policy=none")
endfunction()
