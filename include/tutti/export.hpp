/// @file
/// What a shared library of tutti shows to programs.
#pragma once

#if __cplusplus <= 201703L
#error "tutti needs C++20: compile with -std=c++20 or later, or link the CMake target tutti::tutti"
#endif

/// Stands before what is declared in headers and defined in the library; all else is hidden.
#define TUTTI_API [[gnu::visibility("default")]]
