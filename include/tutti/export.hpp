/// @file
/// What a shared library of tutti shows to programs.
#pragma once

/// Stands before what is declared in headers and defined in the library; all else is hidden.
#define TUTTI_API [[gnu::visibility("default")]]
