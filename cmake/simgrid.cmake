# SimGrid, by whose simulations tests check tutti's own. Nothing else needs it. Sets TUTTI_SIMGRID, and
# TUTTI_SIMGRID_WHY, and makes simgrid::simgrid.
set(TUTTI_SIMGRID OFF)
set(TUTTI_SIMGRID_WHY "TUTTI_BUILD_TESTS is OFF")
if(NOT TUTTI_BUILD_TESTS)
  return()
endif()
find_path(TUTTI_SIMGRID_INCLUDE simgrid/s4u.hpp)
find_library(TUTTI_SIMGRID_LIBRARY simgrid)
mark_as_advanced(TUTTI_SIMGRID_INCLUDE TUTTI_SIMGRID_LIBRARY)
set(TUTTI_SIMGRID_WHY "no SimGrid found: the simulator is not compared with it")
if(TUTTI_SANITIZE)
  # Its actors have stacks of their own, of which sanitizers know nothing.
  set(TUTTI_SIMGRID_WHY "TUTTI_SANITIZE is not empty")
elseif(TUTTI_SIMGRID_INCLUDE AND TUTTI_SIMGRID_LIBRARY)
  set(TUTTI_SIMGRID ON)
  set(TUTTI_SIMGRID_WHY "${TUTTI_SIMGRID_LIBRARY}")
  add_library(simgrid::simgrid UNKNOWN IMPORTED)
  set_target_properties(simgrid::simgrid PROPERTIES
    IMPORTED_LOCATION ${TUTTI_SIMGRID_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${TUTTI_SIMGRID_INCLUDE})
endif()
