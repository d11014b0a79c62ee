/// @file
/// Networks as the command takes them.
#pragma once

#include <string>

#include "topology/read.hpp"

namespace tutti::perf {

/// @param network the path of a file, or a family such as torus:8x8, whose hosts are h0, h1, ...
/// and switches s0, s1, ... @return it. Throws Error{invalid_argument}.
[[nodiscard]] NamedTopology load_network(const std::string& network);

}  // namespace tutti::perf
