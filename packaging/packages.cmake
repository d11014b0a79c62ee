# DEBs and RPMs of CPack, one for each component of the installation. The command needs no MPI to be installed, since it
# loads one at run time; tutti::mpi is left to builds from source, which know their MPI.
if(NOT BUILD_SHARED_LIBS OR TUTTI_BUILD_MPI OR NOT TARGET tutti_command_tutti OR NOT TARGET tutti_c)
  message(FATAL_ERROR "TUTTI_PACKAGES needs BUILD_SHARED_LIBS=ON, TUTTI_BUILD_MPI=OFF, TUTTI_BUILD_COMMAND=ON and TUTTI_BUILD_C=ON")
endif()

# The module of Python, which a plain installation leaves to pip.
enable_language(C)
include(${PROJECT_SOURCE_DIR}/cmake/python.cmake)
set(made ${CMAKE_CURRENT_BINARY_DIR}/python)
if(NOT TARGET tutti_declarations)
  tutti_add_python_modules(${PROJECT_SOURCE_DIR} ${made})
endif()
find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(debian OFF)
if(EXISTS /etc/debian_version)
  set(debian ON)
  set(site lib/python3/dist-packages)  # of every Python of Debian
else()
  string(REGEX REPLACE "^.*/(lib[^/]*/python)" "\\1" site "${Python3_SITELIB}")
endif()
set(python COMPONENT tutti_python EXCLUDE_FROM_ALL)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/python/tutti DESTINATION ${site} ${python}
        FILES_MATCHING PATTERN "*.py" PATTERN "*.pyi" PATTERN "py.typed" PATTERN "_lib" EXCLUDE PATTERN "_bin" EXCLUDE
        PATTERN "__pycache__" EXCLUDE)
install(FILES ${made}/_declarations.py DESTINATION ${site}/tutti ${python})
install(FILES ${PROJECT_SOURCE_DIR}/perf/pages/sweep_file.py DESTINATION ${site}/tutti RENAME _sweep_file.py ${python})
if(TARGET tutti_fast)
  install(TARGETS tutti_fast LIBRARY DESTINATION ${site}/tutti ${python})
endif()
# The package finds the command and the C interface in the other packages.
file(RELATIVE_PATH command /prefix/${site}/tutti/_bin /prefix/${CMAKE_INSTALL_BINDIR}/tutti)
file(MAKE_DIRECTORY ${made})
file(CREATE_LINK ${command} ${made}/tutti SYMBOLIC)
install(FILES ${made}/tutti DESTINATION ${site}/tutti/_bin ${python})
set(metadata tutti-${PROJECT_VERSION}.dist-info)
add_custom_command(OUTPUT ${made}/${metadata}/METADATA
  COMMAND Python3::Interpreter -B ${CMAKE_CURRENT_SOURCE_DIR}/dist_info.py ${PROJECT_SOURCE_DIR} ${PROJECT_VERSION} ${made}/${metadata}
  DEPENDS dist_info.py ${PROJECT_SOURCE_DIR}/pyproject.toml VERBATIM)
add_custom_target(tutti_metadata ALL DEPENDS ${made}/${metadata}/METADATA)
install(DIRECTORY ${made}/${metadata} DESTINATION ${site} ${python})

file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/changelog "tutti (${PROJECT_VERSION}-1) unstable; urgency=medium\n\n  * See CHANGELOG.md of the sources.\n\n"
     " -- The tutti authors <tutti@localhost>  Thu, 01 Jan 2026 00:00:00 +0000\n")
execute_process(COMMAND gzip -9 -n -f -k ${CMAKE_CURRENT_BINARY_DIR}/changelog COMMAND_ERROR_IS_FATAL ANY)
file(READ ${PROJECT_SOURCE_DIR}/LICENSE licence)
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/copyright "${licence}\nNOTICE beside this file has the licences of other code in compiled files.\n")
# tutti_package(component name section): names, and the files that every package of Debian has.
function(tutti_package component name section)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/copyright ${PROJECT_SOURCE_DIR}/NOTICE DESTINATION share/doc/${name}
          COMPONENT ${component} EXCLUDE_FROM_ALL)
  if(debian)
    install(FILES ${CMAKE_CURRENT_BINARY_DIR}/changelog.gz DESTINATION share/doc/${name} RENAME changelog.Debian.gz
            COMPONENT ${component} EXCLUDE_FROM_ALL)
    install(FILES debian/lintian-overrides DESTINATION share/lintian/overrides RENAME ${name}
            COMPONENT ${component} EXCLUDE_FROM_ALL)
  endif()
  string(TOUPPER ${component} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name} PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${section} PARENT_SCOPE)
  set(CPACK_RPM_${upper}_PACKAGE_NAME ${name} PARENT_SCOPE)
endfunction()
tutti_package(tutti_libraries libtutti0 libs)
tutti_package(tutti_dropin libtutti-mpi0 libs)
tutti_package(tutti_development libtutti-dev libdevel)
tutti_package(tutti_command tutti science)
tutti_package(tutti_python python3-tutti python)

set(CPACK_COMPONENTS_ALL tutti_libraries tutti_dropin tutti_development tutti_command tutti_python)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_PACKAGE_NAME tutti)
set(CPACK_PACKAGE_VENDOR "The tutti authors")
set(CPACK_PACKAGE_CONTACT "The tutti authors <tutti@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_COMPONENT_TUTTI_LIBRARIES_DESCRIPTION "tutti sends data between the processes of a job, on one host or many, with
or without an MPI. This package has the libraries that programs load.")
set(CPACK_COMPONENT_TUTTI_DROPIN_DESCRIPTION "This package has the library that serves the collectives of MPI programs, for
every MPI. The command `tutti exec` loads it into a program.")
set(CPACK_COMPONENT_TUTTI_DEVELOPMENT_DESCRIPTION "This package has the headers of C++ and C, the module of Fortran, and the
files for CMake and pkg-config.")
set(CPACK_COMPONENT_TUTTI_COMMAND_DESCRIPTION "The command proves, draws and measures algorithms of collectives, beside the
MPI that it finds at run time, and starts the ranks of programs.")
set(CPACK_COMPONENT_TUTTI_PYTHON_DESCRIPTION "Worlds, collectives and messages on arrays of any library on the CPU, and a
backend for PyTorch.")

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR} ${PROJECT_BINARY_DIR}/c)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
# libtutti.so changes with the second number of the version, of which the name libtutti0 says nothing.
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY "=")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(exact "(= ${PROJECT_VERSION}-1)")
# What find_package(tutti) and pkg-config look for.
set(CPACK_DEBIAN_TUTTI_DEVELOPMENT_PACKAGE_DEPENDS "libtutti0 ${exact}, libtutti-mpi0 ${exact}, libssl-dev, libhwloc-dev, libexpat1-dev")
set(CPACK_DEBIAN_TUTTI_PYTHON_PACKAGE_DEPENDS "libtutti0 ${exact}, tutti ${exact}, python3 (>= 3.11)")
set(CPACK_DEBIAN_TUTTI_COMMAND_PACKAGE_DEPENDS "libtutti-mpi0 ${exact}")
set(CPACK_DEBIAN_TUTTI_DROPIN_PACKAGE_SUGGESTS "openmpi-bin | mpich, tutti")
set(CPACK_DEBIAN_TUTTI_COMMAND_PACKAGE_RECOMMENDS "openssh-client, python3")
set(CPACK_DEBIAN_TUTTI_COMMAND_PACKAGE_SUGGESTS "openmpi-bin | mpich, python3-matplotlib, python3-plotly")
set(CPACK_DEBIAN_TUTTI_LIBRARIES_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_SOURCE_DIR}/debian/triggers)
set(CPACK_DEBIAN_TUTTI_PYTHON_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_SOURCE_DIR}/debian/python/postinst
    ${CMAKE_CURRENT_SOURCE_DIR}/debian/python/prerm)

set(CPACK_RPM_COMPONENT_INSTALL ON)
set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
set(CPACK_RPM_PACKAGE_LICENSE BSD-3-Clause)
set(CPACK_RPM_TUTTI_DEVELOPMENT_PACKAGE_REQUIRES "libtutti0 = ${PROJECT_VERSION}, libtutti-mpi0 = ${PROJECT_VERSION}, openssl-devel, hwloc-devel, expat-devel")
set(CPACK_RPM_TUTTI_COMMAND_PACKAGE_REQUIRES "libtutti-mpi0 = ${PROJECT_VERSION}")
set(CPACK_RPM_TUTTI_PYTHON_PACKAGE_REQUIRES "libtutti0 = ${PROJECT_VERSION}, tutti = ${PROJECT_VERSION}, python3 >= 3.11")
# Folders of the system.
set(CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION /usr/share/man /usr/share/man/man1 /usr/share/man/man7
    /usr/share/bash-completion    /usr/share/bash-completion/completions /usr/share/zsh /usr/share/zsh/site-functions /usr/share/fish
    /usr/share/fish/vendor_completions.d /usr/${CMAKE_INSTALL_LIBDIR} /usr/${CMAKE_INSTALL_LIBDIR}/pkgconfig
    /usr/${CMAKE_INSTALL_LIBDIR}/cmake /usr/share/lintian /usr/share/lintian/overrides)
cmake_path(GET site PARENT_PATH above)
list(APPEND CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION /usr/${above} /usr/${site})
include(CPack)
