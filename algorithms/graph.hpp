/// @file
/// What the files about graphs share.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <tutti/spi/graph.hpp>

#include "refuse.hpp"

namespace tutti::v0 {

/// What stands before the routers of all ranks, or before how many ranks sit on each router.
inline constexpr std::string_view kGraphRanks = ":ranks=";
inline constexpr std::string_view kGraphPerRouter = ":per_router=";

/// The size of the largest graph.
inline constexpr int kMostRouters = 1 << 16;

/// What is costly: made once, when it is asked for, and shared by all copies of a graph.
struct Graph::Lazy {
  std::once_flag trees_once{}, rings_once{};
  SpanningTrees trees{};
  std::vector<std::vector<int>> rings{};
};

/// Refuses a graph that would be too large. @param what such as "the torus".
void check_size(std::string_view what, std::int64_t routers, std::int64_t edges);

}  // namespace tutti::v0
