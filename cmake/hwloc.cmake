# hwloc, which says which caches and packages the processors of a host share. Sets TUTTI_HWLOC, and
# TUTTI_HWLOC_WHY, and makes tutti::hwloc. Without it all processors of a host are taken for alike.
option(TUTTI_BUILD_HWLOC "Look at the processors of the host, by hwloc" ON)
set(TUTTI_HWLOC OFF)
set(TUTTI_HWLOC_WHY "TUTTI_BUILD_HWLOC is OFF")
include(${CMAKE_CURRENT_LIST_DIR}/tutti_find_hwloc.cmake)
if(TUTTI_BUILD_HWLOC)
  tutti_find_hwloc()
  set(TUTTI_HWLOC_WHY "no hwloc found (libhwloc-dev): all processors of a host are taken for alike")
  if(TARGET tutti::hwloc)
    set(TUTTI_HWLOC ON)
    set(TUTTI_HWLOC_WHY "${TUTTI_HWLOC_LIBRARY}")
  endif()
endif()
