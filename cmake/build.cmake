# How everything is compiled: the language, the warnings, the sanitizers, and the targets that carry
# them to each box.
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  if(PROJECT_IS_TOP_LEVEL)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
  else()
    separate_arguments(flags UNIX_COMMAND "${CMAKE_CXX_FLAGS_RELEASE}")
    add_compile_options(${flags})
  endif()
  message(STATUS "tutti: no CMAKE_BUILD_TYPE is given, so tutti is compiled as Release: ${CMAKE_CXX_FLAGS_RELEASE}")
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
# A shared library shows what <tutti/export.hpp> marks, and nothing else.
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
endif()

find_program(TUTTI_CCACHE ccache)
mark_as_advanced(TUTTI_CCACHE)
# Without this sloppiness ccache lets every compilation with a precompiled header pass. By dependencies,
# since a precompiled header of headers with other comments is another one, for GCC's #pragma once.
if(TUTTI_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      env CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_DEPEND=1 ${TUTTI_CCACHE})
endif()

if(TUTTI_SANITIZE)
  add_compile_options(-fsanitize=${TUTTI_SANITIZE} -fno-sanitize-recover=all
                      -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${TUTTI_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")  # its manual: instrumented code looks uninitialised to it
    add_compile_options(-Wno-maybe-uninitialized)
  endif()
endif()

# The fuzzers need to see which way the code they call takes.
if(TUTTI_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "TUTTI_FUZZ needs clang: -DCMAKE_CXX_COMPILER=clang++")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all)
  add_link_options(-fsanitize=address,undefined)
endif()

# One target per box; the test `layering` checks what a box includes.
# g++ 12 warns of overlapping copies inside std::string that cannot happen (GCC bug 105651).
# Nobody puts functions of a program in the place of ours, which g++ would have to allow for in code
# that may be loaded anywhere: it would inline none but those of headers.
add_library(tutti_flags INTERFACE)
# A switch over an enumeration lists all enumerators, so that the compiler finds each place that a new one needs.
target_compile_options(tutti_flags INTERFACE -fno-semantic-interposition -Wall -Wextra -Wshadow -Wconversion -Werror=switch
                       $<$<CXX_COMPILER_ID:Clang>:-Wno-sign-conversion> # which -Wconversion of g++ leaves out
                       $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>
                       $<$<BOOL:${TUTTI_WARNINGS_AS_ERRORS}>:-Werror>)

add_library(tutti_include INTERFACE)
add_library(tutti::include ALIAS tutti_include)
target_include_directories(tutti_include INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
target_compile_features(tutti_include INTERFACE cxx_std_20)

# A shared library exports only the marked symbols that a version script names, without those of other
# libraries' headers. tutti_export_only(target script)
function(tutti_export_only target script)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "SHARED_LIBRARY" AND CMAKE_SYSTEM_NAME STREQUAL "Linux")
    target_link_options(${target} PRIVATE LINKER:--version-script=${script})
    set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${script})
  endif()
endfunction()

# The command and the tests link target_inside, which shows all symbols of a library.
# tutti_add_inside(target SOURCES ... LIBRARIES ...) makes target_inside.
function(tutti_add_inside target)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBRARIES" ${ARGN})
  if(BUILD_SHARED_LIBS)
    add_library(${target}_inside STATIC EXCLUDE_FROM_ALL ${arg_SOURCES})
    target_link_libraries(${target}_inside PUBLIC ${arg_LIBRARIES})
  else()
    add_library(${target}_inside ALIAS ${target})
  endif()
endfunction()
