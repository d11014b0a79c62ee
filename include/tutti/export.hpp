/// @file
/// The symbols that a shared library of tutti exports.
#pragma once

#if __cplusplus <= 201703L
#error "tutti needs C++20: compile with -std=c++20 or later, or link the CMake target tutti::tutti"
#endif

/// Marks names that are declared in headers and defined in the library; all others are hidden.
#define TUTTI_API [[gnu::visibility("default")]]
