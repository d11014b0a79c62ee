# The MPIs for which the mpi backend is built. Sets what tutti_find_mpi.cmake says, and
#   TUTTI_MPI_<name>_LAUNCHER  the launcher of its tests, beside the wrapper; empty if there is none
#   TUTTI_CHOSEN_MPI           the one that tutti::mpi means
set(TUTTI_MPI_openmpi_CXX "" CACHE STRING "Compiler wrapper of Open MPI, OFF to leave it out")
set(TUTTI_MPI_mpich_CXX "" CACHE STRING "Compiler wrapper of MPICH or a relative, OFF to leave it out")
set(TUTTI_MPI_standard_CXX "" CACHE STRING "Compiler wrapper of the standard ABI, as mpicxx_abi; OFF to leave it out")

# A launcher may need these: root in containers, and more ranks than cores.
set(TUTTI_MPI_ENVIRONMENT OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
                          OMPI_MCA_rmaps_base_oversubscribe=1)

set(TUTTI_MPIS "")
if(NOT TUTTI_BUILD_MPI)
  return()
endif()
set(TUTTI_MPI_PROBE ${PROJECT_SOURCE_DIR}/backends/mpi/probe/mpi_probe.cpp)
include(${CMAKE_CURRENT_LIST_DIR}/tutti_find_mpi.cmake)
tutti_find_mpis(openmpi mpich standard)

# An MPI that was asked for by name is there, or the build stops. Variables of others stop it if MPI is asked for.
set(errors ${TUTTI_MPI_ERRORS})
if(TUTTI_BUILD_MPI STREQUAL "AUTO")
  list(FILTER errors INCLUDE REGEX "^TUTTI_")
  list(FILTER TUTTI_MPI_ERRORS EXCLUDE REGEX "^TUTTI_")
  foreach(error IN LISTS TUTTI_MPI_ERRORS)
    message(WARNING "tutti does not use this MPI: ${error}")
  endforeach()
elseif(NOT TUTTI_MPIS)
  list(PREPEND errors "openmpi: ${TUTTI_MPI_openmpi_WHY}" "mpich: ${TUTTI_MPI_mpich_WHY}")
endif()
if(errors)
  list(JOIN errors "\n  " errors)
  message(FATAL_ERROR "tutti is asked for an MPI that it cannot use:\n  ${errors}\n"
    "Name a compiler wrapper by -DTUTTI_MPI_openmpi_CXX=/path/to/mpicxx, -DTUTTI_MPI_mpich_CXX or MPI_HOME, or install one "
    "(Debian: libopenmpi-dev or libmpich-dev). -DTUTTI_BUILD_MPI=AUTO builds with the MPIs that are found, OFF without any.")
endif()

set(launchers_openmpi mpirun.openmpi mpiexec.openmpi mpirun mpiexec)
set(launchers_mpich mpiexec.hydra mpiexec.mpich mpirun.mpich mpiexec mpirun)
set(launchers_standard ${launchers_mpich})
foreach(name IN LISTS TUTTI_MPIS)
  set(launcher "${TUTTI_MPI_${name}_LAUNCHER}")  # given by the user, as srun
  if("${launcher}" STREQUAL "")
    unset(launcher)
    cmake_path(GET TUTTI_MPI_${name}_WRAPPER PARENT_PATH folder)
    find_program(launcher NAMES ${launchers_${name}} PATHS ${folder} NO_DEFAULT_PATH NO_CACHE)
  endif()
  if(launcher)
    set(TUTTI_MPI_${name}_LAUNCHER ${launcher})
    string(APPEND TUTTI_MPI_${name}_WHY ", tests start by ${launcher}")
  else()
    set(TUTTI_MPI_${name}_LAUNCHER "")
    string(APPEND TUTTI_MPI_${name}_WHY ", no launcher beside it: without the tests that start ranks")
  endif()
  unset(launcher)
endforeach()
foreach(name IN ITEMS openmpi mpich standard)
  message(STATUS "MPI ${name}: ${TUTTI_MPI_${name}_WHY}")
endforeach()

if(TUTTI_MPI AND NOT TUTTI_MPI IN_LIST TUTTI_MPIS)
  message(FATAL_ERROR "TUTTI_MPI is \"${TUTTI_MPI}\", but the MPIs found are: ${TUTTI_MPIS}")
endif()
set(TUTTI_CHOSEN_MPI ${TUTTI_MPI})
if(TUTTI_MPIS AND NOT TUTTI_MPI)
  list(GET TUTTI_MPIS 0 TUTTI_CHOSEN_MPI)
endif()
