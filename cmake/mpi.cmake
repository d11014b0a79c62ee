# Finds every MPI by its own compiler wrapper, paired with its own launcher. Sets
#   TUTTI_MPIS                      the names found, a subset of "openmpi;mpich"
#   TUTTI_MPI_<name>_LAUNCHER       the launcher that belongs to it
#   TUTTI_MPI_<name>_WHY            why it is on, or why not
#   tutti_mpi_library_<name>        target: include folders and libraries of the MPI
# The wrapper is asked for flags, not used to compile: the rest of tutti is built once for all MPIs.
# Another MPI of either kind is chosen by -DTUTTI_MPI_<name>_CXX=/path/to/mpicxx; an MPI is left out
# by -DTUTTI_MPI_<name>_CXX=OFF.

set(TUTTI_MPI_openmpi_CXX "" CACHE STRING "Compiler wrapper of Open MPI, OFF to leave it out")
set(TUTTI_MPI_mpich_CXX "" CACHE STRING "Compiler wrapper of MPICH, OFF to leave it out")

# A launcher may need these: root in containers, and more ranks than cores.
set(TUTTI_MPI_ENVIRONMENT OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
                          OMPI_MCA_rmaps_base_oversubscribe=1)

# Asks a wrapper for its link line; empty if it is not a wrapper of that kind.
function(tutti_ask_wrapper name wrapper result)
  set(${result} "" PARENT_SCOPE)
  if(name STREQUAL "openmpi")
    execute_process(COMMAND ${wrapper} --showme OUTPUT_VARIABLE line RESULT_VARIABLE failed
                    ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE TIMEOUT 30)
  else()
    execute_process(COMMAND ${wrapper} -show OUTPUT_VARIABLE line RESULT_VARIABLE failed
                    ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE TIMEOUT 30)
    if(NOT line MATCHES "-lmpi(ch)?( |$)" OR line MATCHES "openmpi")  # Open MPI accepts -show too
      return()
    endif()
  endif()
  if(NOT failed)
    set(${result} "${line}" PARENT_SCOPE)
  endif()
endfunction()

# Makes the target of an MPI from its wrapper's compile and link line.
function(tutti_make_mpi_library name line)
  separate_arguments(words UNIX_COMMAND "${line}")
  list(POP_FRONT words)  # the compiler
  set(folders "")
  set(library_folders "")
  set(libraries "")
  set(options "")
  foreach(word IN LISTS words)
    if(word MATCHES "^-I(.+)")
      list(APPEND folders "${CMAKE_MATCH_1}")
    elseif(word MATCHES "^-L(.+)")
      list(APPEND library_folders "${CMAKE_MATCH_1}")
    elseif(word MATCHES "^-l(.+)")
      list(APPEND libraries "${CMAKE_MATCH_1}")
    elseif(word MATCHES "^-(Wl,|pthread)")
      list(APPEND options "${word}")
    endif()
  endforeach()
  list(REMOVE_ITEM libraries mpi_cxx mpichcxx mpicxx)  # the C++ bindings that MPI-3 removed
  set(paths "")
  foreach(library IN LISTS libraries)
    find_library(found NAMES ${library} PATHS ${library_folders} NO_DEFAULT_PATH NO_CACHE)
    if(NOT found)
      set(found ${library})
    endif()
    list(APPEND paths ${found})
    unset(found)
  endforeach()
  add_library(tutti_mpi_library_${name} INTERFACE)
  target_include_directories(tutti_mpi_library_${name} SYSTEM INTERFACE ${folders})
  target_link_libraries(tutti_mpi_library_${name} INTERFACE ${paths})
  target_link_options(tutti_mpi_library_${name} INTERFACE ${options})
  target_compile_definitions(tutti_mpi_library_${name}
                             INTERFACE OMPI_SKIP_MPICXX=1 MPICH_SKIP_MPICXX=1)
endfunction()

# Builds a program with an MPI and starts it on two ranks. A launcher of another MPI would start two
# worlds of one rank each.
function(tutti_probe_mpi name launcher result why)
  set(folder ${CMAKE_BINARY_DIR}/CMakeFiles/tutti_mpi_probe)
  set(program ${folder}/${name})
  set(source ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../backends/mpi/probe/probe.cpp)
  foreach(property IN ITEMS INCLUDE_DIRECTORIES COMPILE_DEFINITIONS LINK_LIBRARIES LINK_OPTIONS)
    get_target_property(${property} tutti_mpi_library_${name} INTERFACE_${property})
    if(NOT ${property})
      set(${property} "")
    endif()
  endforeach()
  list(TRANSFORM COMPILE_DEFINITIONS PREPEND -D)
  try_compile(compiled ${folder}/${name}.build ${source}
              CMAKE_FLAGS "-DINCLUDE_DIRECTORIES=${INCLUDE_DIRECTORIES}"
              COMPILE_DEFINITIONS ${COMPILE_DEFINITIONS}
              LINK_OPTIONS ${LINK_OPTIONS} LINK_LIBRARIES ${LINK_LIBRARIES}
              COPY_FILE ${program} OUTPUT_VARIABLE text)
  set(built ${compiled})
  unset(compiled CACHE)
  if(NOT built)
    file(WRITE ${folder}/${name}.log "${text}")
    set(${result} FALSE PARENT_SCOPE)
    set(${why} "a program does not build with it, see ${folder}/${name}.log" PARENT_SCOPE)
    return()
  endif()
  execute_process(
    COMMAND ${CMAKE_COMMAND} -E env ${TUTTI_MPI_ENVIRONMENT} ASAN_OPTIONS=detect_leaks=0
            ${launcher} -n 2 ${program}
    OUTPUT_VARIABLE output ERROR_VARIABLE errors RESULT_VARIABLE failed TIMEOUT 60)
  file(WRITE ${folder}/${name}.log "${output}\n${errors}\n")
  string(REGEX MATCHALL "rank [0-9]+ of [0-9]+" ranks "${output}")
  list(SORT ranks)
  if(NOT failed AND ranks STREQUAL "rank 0 of 2;rank 1 of 2")
    set(${result} TRUE PARENT_SCOPE)
    set(${why} "two ranks started" PARENT_SCOPE)
  elseif(ranks STREQUAL "rank 0 of 1;rank 0 of 1")
    set(${result} FALSE PARENT_SCOPE)
    set(${why} "${launcher} starts two worlds of one rank: it belongs to another MPI" PARENT_SCOPE)
  else()
    set(${result} FALSE PARENT_SCOPE)
    set(${why} "${launcher} cannot start two ranks, see ${folder}/${name}.log" PARENT_SCOPE)
  endif()
endfunction()

# Finds one MPI. ARGN: names of its launcher, the most specific first; it stands beside the wrapper.
function(tutti_find_mpi name)
  set(why "no compiler wrapper found")
  set(line "")
  set(chosen "${TUTTI_MPI_${name}_CXX}")
  if(chosen STREQUAL "OFF")
    set(TUTTI_MPI_${name}_WHY "left out by TUTTI_MPI_${name}_CXX=OFF" PARENT_SCOPE)
    return()
  endif()
  set(wrappers mpicxx.${name} mpicxx)
  if(chosen)
    set(wrappers ${chosen})
  endif()
  foreach(candidate IN LISTS wrappers)
    find_program(wrapper NAMES ${candidate} NO_CACHE)
    if(wrapper)
      tutti_ask_wrapper(${name} ${wrapper} line)
    endif()
    if(line)
      break()
    endif()
    unset(wrapper)
  endforeach()
  if(line)
    get_filename_component(folder ${wrapper} DIRECTORY)
    find_program(launcher NAMES ${ARGN} PATHS ${folder} NO_DEFAULT_PATH NO_CACHE)
    if(launcher)
      tutti_make_mpi_library(${name} "${line}")
      set(probed "${wrapper};${launcher};${CMAKE_CXX_COMPILER};${CMAKE_CXX_FLAGS}")
      if(TUTTI_MPI_${name}_PROBED STREQUAL probed)  # nothing has changed since it passed
        set(works TRUE)
        set(why "two ranks started")
      else()
        tutti_probe_mpi(${name} ${launcher} works why)
      endif()
      if(works)
        set(TUTTI_MPI_${name}_PROBED "${probed}" CACHE INTERNAL "what the probe passed with")
        set(TUTTI_MPIS ${TUTTI_MPIS} ${name} PARENT_SCOPE)
        set(TUTTI_MPI_${name}_LAUNCHER ${launcher} PARENT_SCOPE)
        set(why "${wrapper}, ${launcher}: ${why}")
      endif()
    else()
      set(why "no launcher beside ${wrapper}")
    endif()
  endif()
  set(TUTTI_MPI_${name}_WHY "${why}" PARENT_SCOPE)
endfunction()

set(TUTTI_MPIS "")
tutti_find_mpi(openmpi mpirun.openmpi mpiexec.openmpi mpirun mpiexec)
tutti_find_mpi(mpich mpiexec.hydra mpiexec.mpich mpirun.mpich mpiexec mpirun)
foreach(name IN ITEMS openmpi mpich)
  message(STATUS "MPI ${name}: ${TUTTI_MPI_${name}_WHY}")
endforeach()
