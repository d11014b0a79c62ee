# Installation: libraries, headers, the package for find_package(tutti), and pkg-config files. All of
# it may be moved as a whole after installation.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME tutti_development)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/tutti)
set(libraries tutti tutti_include tutti_testing tutti_training)
set_target_properties(tutti_include PROPERTIES EXPORT_NAME include)
set_target_properties(tutti_testing PROPERTIES EXPORT_NAME testing INSTALL_RPATH "$ORIGIN")
set_target_properties(tutti_training PROPERTIES EXPORT_NAME training INSTALL_RPATH "$ORIGIN")
set(TUTTI_PARTS testing training)  # components, beside mpi
if(TARGET tutti_schedules)
  list(APPEND libraries tutti_schedules)
  list(APPEND TUTTI_PARTS schedules)
  set_target_properties(tutti_schedules PROPERTIES EXPORT_NAME schedules INSTALL_RPATH "$ORIGIN")
endif()
if(TARGET tutti_c)
  list(APPEND libraries tutti_c)
  list(APPEND TUTTI_PARTS c)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/c/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
endif()
if(TARGET tutti_fortran_module)
  # The source, since compiled modules of Fortran fit one compiler only.
  install(FILES ${PROJECT_BINARY_DIR}/c/tutti.f90 DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
endif()
set(modules ${TUTTI_MPI_FAMILIES})
list(TRANSFORM modules PREPEND tutti_mpi_module_)
get_property(dropin GLOBAL PROPERTY TUTTI_DROPIN_TARGETS)
foreach(name IN LISTS TUTTI_MPIS)
  list(APPEND libraries tutti_mpi_${name})
  set_target_properties(tutti_mpi_${name} PROPERTIES EXPORT_NAME mpi_${name}
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
    INSTALL_RPATH "$ORIGIN")
endforeach()

if(TUTTI_CUDA)
  list(APPEND libraries tutti_cuda)
  list(APPEND TUTTI_PARTS cuda)
  set_target_properties(tutti_cuda PROPERTIES EXPORT_NAME cuda INSTALL_RPATH "$ORIGIN"
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/backends/cuda/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
endif()

# Shared libraries are found from where the file that needs them lies, so that the tree may be moved.
file(RELATIVE_PATH to_libraries /prefix/${CMAKE_INSTALL_BINDIR} /prefix/${CMAKE_INSTALL_LIBDIR})
if(TARGET tutti_command_tutti)
  set_target_properties(tutti_command_tutti PROPERTIES INSTALL_RPATH "$ORIGIN/${to_libraries}")
endif()

# The files that must be built. If one is missing, nothing is installed.
set(TUTTI_INSTALLED_FILES "")
foreach(target IN ITEMS ${libraries} tutti_command_tutti ${modules} ${dropin})
  if(TARGET ${target})
    get_target_property(type ${target} TYPE)
    if(NOT type STREQUAL "INTERFACE_LIBRARY")
      string(APPEND TUTTI_INSTALLED_FILES " \"$<TARGET_FILE:${target}>\"")
    endif()
  endif()
endforeach()
if(TARGET tutti_fortran_module)
  string(APPEND TUTTI_INSTALLED_FILES " \"${PROJECT_BINARY_DIR}/c/tutti.f90\"")
endif()
configure_file(${CMAKE_CURRENT_LIST_DIR}/check_built.cmake.in ${PROJECT_BINARY_DIR}/package/check_built.cmake.in @ONLY)
file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/package/check_built_$<CONFIG>.cmake
              INPUT ${PROJECT_BINARY_DIR}/package/check_built.cmake.in)

install(TARGETS ${libraries} EXPORT tutti LIBRARY COMPONENT tutti_libraries NAMELINK_COMPONENT tutti_development)
install(EXPORT tutti NAMESPACE tutti:: FILE tutti_targets.cmake DESTINATION ${package_folder})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(TUTTI_MPIS)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/backends/mpi/include/
          DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
endif()

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/tuttiConfig.cmake.in
  ${PROJECT_BINARY_DIR}/package/tuttiConfig.cmake INSTALL_DESTINATION ${package_folder}
  NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/tuttiConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/package/tuttiConfig.cmake
              ${PROJECT_BINARY_DIR}/package/tuttiConfigVersion.cmake
              ${PROJECT_SOURCE_DIR}/cmake/tutti_find_hwloc.cmake ${PROJECT_SOURCE_DIR}/cmake/tutti_find_mpi.cmake
              ${PROJECT_SOURCE_DIR}/backends/mpi/probe/mpi_probe.cpp
        DESTINATION ${package_folder})

# Licences ask for their texts beside compiled files. As a part of another project, tutti keeps out of its folder.
set(documents ${CMAKE_INSTALL_DOCDIR})
if(NOT PROJECT_IS_TOP_LEVEL)
  set(documents ${CMAKE_INSTALL_DATAROOTDIR}/doc/tutti)
endif()
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/NOTICE DESTINATION ${documents} COMPONENT tutti_licences)

# The way from the folder of a .pc file to the prefix, so that no absolute path is in it.
file(RELATIVE_PATH TUTTI_PC_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
string(REGEX REPLACE "/$" "" TUTTI_PC_PREFIX "${TUTTI_PC_PREFIX}")
# tutti_write_pc(name about flags libraries requires private)
# A shared library brings its own libraries along; a static one passes them on.
function(tutti_write_pc TUTTI_PC_NAME TUTTI_PC_ABOUT TUTTI_PC_FLAGS TUTTI_PC_LIBRARIES TUTTI_PC_REQUIRES TUTTI_PC_PRIVATE)
  if(NOT BUILD_SHARED_LIBS)
    string(STRIP "${TUTTI_PC_REQUIRES} ${TUTTI_PC_PRIVATE}" TUTTI_PC_REQUIRES)
    set(TUTTI_PC_PRIVATE "")
  endif()
  configure_file(${CMAKE_CURRENT_FUNCTION_LIST_DIR}/tutti.pc.in ${PROJECT_BINARY_DIR}/package/${TUTTI_PC_NAME}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/package/${TUTTI_PC_NAME}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()

set(needs "")
if(TUTTI_OPENSSL)
  string(APPEND needs " libssl libcrypto")
endif()
if(TUTTI_HWLOC)
  string(APPEND needs " hwloc")
endif()
tutti_write_pc(tutti "" "" "-ltutti -pthread" "" "${needs}")
tutti_write_pc(tutti-testing ": a simulated cluster for tests" "" "-ltutti_testing -ltutti" tutti "")
tutti_write_pc(tutti-training ": training aids" "" "-ltutti_training -ltutti" tutti "")
if(TARGET tutti_schedules)
  tutti_write_pc(tutti-schedules ": schedules from files" "" "-ltutti_schedules -ltutti" tutti expat)
endif()
if(TARGET tutti_c)
  tutti_write_pc(tutti-c ": the C interface" "" -ltutti_c "" "")
endif()
if(TUTTI_CUDA)
  tutti_write_pc(tutti-cuda ": memory of GPUs" "" "-ltutti_cuda -ltutti" tutti "")
endif()
# The linker keeps the library without a call of it: libraries of the MPI for Fortran have the calls.
if(dropin)
  tutti_write_pc(tutti-mpi ": MPI programs with its collectives" ""
                 "-L\${libdir}/tutti -Wl,-rpath,\${libdir}/tutti -Wl,--push-state,--no-as-needed -ltutti-mpi -Wl,--pop-state" "" "")
endif()
# The MPI's compiler wrapper adds what the MPI needs.
foreach(name IN LISTS TUTTI_MPIS)
  tutti_write_pc(tutti-mpi-${name} ", over ${name}; for its mpicxx" " -DOMPI_SKIP_MPICXX=1 -DMPICH_SKIP_MPICXX=1"
                 "-ltutti_mpi_${name} -ltutti" tutti "")
endforeach()
