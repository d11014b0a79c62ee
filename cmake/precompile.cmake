# What most sources of the boxes include of the standard library is read once where code is
# instrumented, for the time of CI. A release is compiled without, and so shows an include that is
# missing. No header of tutti is among them: its names would be seen where they are not included. The
# box `host` has flags of its own, which no other header fits.
if(TUTTI_SANITIZE)
  add_library(tutti_precompiled OBJECT ${CMAKE_CURRENT_LIST_DIR}/precompiled.cpp)
  target_link_libraries(tutti_precompiled PRIVATE tutti_include tutti_flags)
  target_precompile_headers(tutti_precompiled PRIVATE
    <algorithm> <array> <chrono> <cstring> <functional> <map> <memory> <mutex> <optional> <span>
    <string> <string_view> <thread> <utility> <vector>)
  foreach(box IN ITEMS algorithms collectives hybrid runtime shm sim tcp)
    target_precompile_headers(tutti_${box} REUSE_FROM tutti_precompiled)
  endforeach()
  # For the same reason the files of some boxes are compiled together.
  set_target_properties(tutti_algorithms tutti_collectives tutti_shm
                        PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 10)
endif()
