# cereal, whose traits <tutti/cereal.hpp> builds upon. Nothing but tests and benchmarks of that header
# needs it. Sets TUTTI_CEREAL.
find_path(TUTTI_CEREAL_INCLUDE cereal/cereal.hpp)
mark_as_advanced(TUTTI_CEREAL_INCLUDE)
set(TUTTI_CEREAL OFF)
if(TUTTI_CEREAL_INCLUDE)
  set(TUTTI_CEREAL ON)
endif()
