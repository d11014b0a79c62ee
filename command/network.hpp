/// @file
/// Networks as the command takes them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "topology/read.hpp"

namespace tutti::perf {

/// @param network the path of a file, or a family such as torus:8x8, whose hosts are h0, h1, ...
/// and switches s0, s1, ... @return it. Throws Error{invalid_argument}.
[[nodiscard]] NamedTopology load_network(const std::string& network);

/// @param network any. @return it as a file that is read again: the names of hosts and switches,
/// and the links, in the order of Topology::links.
[[nodiscard]] nlohmann::ordered_json network_json(const NamedTopology& network);

}  // namespace tutti::perf
