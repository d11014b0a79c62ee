# Most of the time of a build goes into reading the same headers, so files of a box are compiled together, up to 32
# at once. More would save little, and would leave processors idle. Kernels of `host` have flags of their own and
# stay by themselves; perf/ and command/ state in their own files what is compiled together.
option(TUTTI_COMPILE_TOGETHER "Compile several files of a box at once" ON)
if(TUTTI_COMPILE_TOGETHER)
  foreach(box IN ITEMS algorithms base collectives host hybrid objects overlap proof runtime selector shm sim simulation tcp
                      topology)
    set_target_properties(tutti_${box} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 32)
  endforeach()
endif()

# A debug build of the boxes is optimised a little too, as that of `host` is: what it saves in the tests,
# which are not, is several times what it costs to compile.
foreach(box IN ITEMS algorithms base collectives hybrid overlap proof runtime selector shm sim tcp topology)
  target_compile_options(tutti_${box} PRIVATE $<$<CONFIG:Debug>:-O1>)
endforeach()

# Instrumented builds precompile the headers of the standard library that most sources of the boxes
# include, for the same reason; releases do not. They precompile no header of tutti, since its names
# would be visible without an include.
if(TUTTI_SANITIZE)
  add_library(tutti_precompiled OBJECT ${CMAKE_CURRENT_LIST_DIR}/precompiled.cpp)
  target_link_libraries(tutti_precompiled PRIVATE tutti_include tutti_flags)
  target_compile_options(tutti_precompiled PRIVATE $<$<CONFIG:Debug>:-O1>)
  target_precompile_headers(tutti_precompiled PRIVATE
    <algorithm> <array> <chrono> <cstring> <functional> <map> <memory> <mutex> <optional> <span>
    <string> <string_view> <thread> <utility> <vector>)
  foreach(box IN ITEMS algorithms base collectives hybrid overlap proof runtime selector shm sim tcp topology)
    target_precompile_headers(tutti_${box} REUSE_FROM tutti_precompiled)
  endforeach()
endif()
