/// @file
/// Declarations that the sources of graphs share.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <tutti/spi/graph.hpp>

#include "refuse.hpp"

namespace tutti::v0 {

/// Keys of a graph's text: the router of each rank, or the ranks per router.
inline constexpr std::string_view kGraphRanks = ":ranks=";
inline constexpr std::string_view kGraphPerRouter = ":per_router=";

/// The size of the largest graph.
inline constexpr int kMostRouters = 1 << 16;

/// Costly data: made at the first request, and shared by all copies of a graph.
struct Graph::Lazy {
  std::once_flag trees_once{}, rings_once{};
  SpanningTrees trees{};
  std::vector<std::vector<int>> rings{};
};

/// Throws Error{invalid_argument} for a graph that is too large. @param what such as "the torus".
void check_size(std::string_view what, std::int64_t routers, std::int64_t edges);

}  // namespace tutti::v0
