# tutti_find_hwloc() makes tutti::hwloc, if hwloc is found: where CMake looks, or where pkg-config says. The build of tutti and its
# installed package both read this file, so the package has no folder of the machine where tutti was built.

# tutti_ask_pkg_config(result package variable): a folder; empty if the package is not known
function(tutti_ask_pkg_config result package variable)
  find_program(pkg_config NAMES pkg-config pkgconf NO_CACHE)
  set(text "")
  if(pkg_config)
    execute_process(COMMAND ${pkg_config} --variable=${variable} ${package} OUTPUT_VARIABLE text ERROR_QUIET
                    OUTPUT_STRIP_TRAILING_WHITESPACE TIMEOUT 30)
  endif()
  set(${result} "${text}" PARENT_SCOPE)
endfunction()

function(tutti_find_hwloc)
  if(TARGET tutti::hwloc)
    return()
  endif()
  tutti_ask_pkg_config(folder hwloc includedir)
  find_path(TUTTI_HWLOC_INCLUDE hwloc.h HINTS ${folder})
  tutti_ask_pkg_config(folder hwloc libdir)
  find_library(TUTTI_HWLOC_LIBRARY hwloc HINTS ${folder})
  mark_as_advanced(TUTTI_HWLOC_INCLUDE TUTTI_HWLOC_LIBRARY)
  if(TUTTI_HWLOC_INCLUDE AND TUTTI_HWLOC_LIBRARY)
    add_library(tutti::hwloc UNKNOWN IMPORTED)
    set_target_properties(tutti::hwloc PROPERTIES IMPORTED_LOCATION ${TUTTI_HWLOC_LIBRARY}
                          INTERFACE_INCLUDE_DIRECTORIES ${TUTTI_HWLOC_INCLUDE})
  endif()
endfunction()
