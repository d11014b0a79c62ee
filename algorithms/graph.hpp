/// @file
/// What the files about graphs share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <tutti/graph.hpp>

namespace tutti {

/// What stands before the routers of all ranks, or before how many ranks sit on each router.
inline constexpr std::string_view kGraphRanks = ":ranks=";
inline constexpr std::string_view kGraphPerRouter = ":per_router=";

/// Throws Error{invalid_argument}. @param message what is wrong with a graph.
[[noreturn]] void refuse_graph(std::string message);

/// Refuses a graph that would be too large. @param what such as "the torus". @param routers how
/// many.
/// @param edges how many.
void check_size(std::string_view what, std::int64_t routers, std::int64_t edges);

}  // namespace tutti
