/// @file
/// A binary interface of MPIs as texts.
#pragma once

#include <map>
#include <string>

/// The values of constants, and the types of functions, by name.
using Interface = std::map<std::string, std::string>;

/// @return what an MPI's own header declares.
Interface interface_of_library();

/// @return what tutti's header of its family declares.
Interface interface_of_family();
