#include "routes.hpp"

#include <algorithm>

namespace tutti::v0 {
namespace {

/// The most entries of all tables: half a gibibyte.
constexpr std::size_t kMostTableEntries = std::size_t{1} << 26;

/// Hashes consecutive numbers (the finalizer of MurmurHash3, by Appleby).
std::uint64_t spread(std::uint64_t key) noexcept {
  key = (key ^ key >> 33U) * 0xff51afd7ed558ccdU;
  key = (key ^ key >> 33U) * 0xc4ceb9fe1a85ec53U;
  return key ^ key >> 33U;
}

}  // namespace

Routes::Routes(const Topology& topology, Routing routing) : topology_{topology}, routing_{routing} {
  for (int vertex = 0; vertex < topology.vertices(); ++vertex)
    inner_.push_back(is_leaf(vertex) ? -1 : static_cast<int>(inners_++));
  if (!topology.grid()) {
    tables_.resize(inners_);
    return;
  }
  const auto& [sides, joined, first] = *topology.grid();
  for (int cell = 0; cell < topology.vertices() - first; ++cell) {
    const std::size_t begin = places_.size();
    int rest = cell;
    for (std::size_t side = sides.size(); side-- > 0; rest /= sides[side])
      places_.push_back(static_cast<std::uint16_t>(rest % sides[side]));
    std::reverse(places_.begin() + static_cast<std::ptrdiff_t>(begin), places_.end());
  }
}

void Routes::find(int from, int to, std::vector<int>& path) {
  path.clear();
  if (from == to) return;
  // The vertices behind one link are as far away as the vertex to which that link leads.
  const auto last = topology_.hops(to);
  const int goal = last.size() == 1 ? last.front().to : to;
  int at = from;
  if (at != goal && is_leaf(at)) append_hop(at, topology_.hops(at).front(), path);
  auto digits = static_cast<std::uint64_t>(to);  // not yet used by a choice
  if (topology_.grid())
    while (at != goal) append_hop(at, next_in_grid(at, from, to, goal, digits), path);
  else if (at != goal) {
    const NextHopTable& table = table_to(goal);
    while (at != goal) append_hop(at, next(table, at, from, to, digits), path);
  }
  if (goal != to) append_hop(at, {to, last.front().link}, path);
}

void Routes::append_hop(int& at, const Topology::Hop& hop, std::vector<int>& path) const {
  const Topology::Link& link = topology_.links()[static_cast<std::size_t>(hop.link)];
  path.push_back(2 * hop.link + (link.b == at ? 1 : 0));
  at = hop.to;
}

/// @return the index of the chosen one of `count` hops.
std::uint64_t Routes::choose(std::uint64_t& digits, int from, int to, int distance,
                             std::uint64_t count) const noexcept {
  if (routing_ == Routing::balanced)
    digits = spread(static_cast<std::uint64_t>(to) << 32U ^ static_cast<std::uint64_t>(from) ^
                    static_cast<std::uint64_t>(distance) << 20U);
  const std::uint64_t chosen = digits % count;
  digits /= count;
  return chosen;
}

/// @return the distance of two cells.
int Routes::grid_distance(int vertex, int goal) const noexcept {
  const auto& [sides, joined, first] = *topology_.grid();
  const std::uint16_t* const a = &places_[static_cast<std::size_t>(vertex - first) * sides.size()];
  const std::uint16_t* const b = &places_[static_cast<std::size_t>(goal - first) * sides.size()];
  int distance = 0;
  for (std::size_t side = 0; side < sides.size(); ++side) {
    const int far = std::abs(a[side] - b[side]);
    distance += joined ? std::min(far, sides[side] - far) : far;
  }
  return distance;
}

Topology::Hop Routes::next_in_grid(int at, int from, int to, int goal,
                                   std::uint64_t& digits) const {
  const int distance = grid_distance(at, goal);
  const int first = topology_.grid()->first;
  const auto hops = topology_.hops(at);
  const auto leads_nearer = [&](const Topology::Hop& hop) {
    return hop.to >= first && grid_distance(hop.to, goal) < distance;
  };
  std::uint64_t nearer = 0;  // a bit for each of the first 64 hops
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < hops.size(); ++i) {
    if (!leads_nearer(hops[i])) continue;
    if (i < 64) nearer |= std::uint64_t{1} << i;
    ++count;
  }
  std::uint64_t left = choose(digits, from, to, distance, count);
  for (std::size_t i = 0; i < hops.size(); ++i) {
    const bool is_nearer = i < 64 ? (nearer >> i & 1) == 1 : leads_nearer(hops[i]);
    if (is_nearer && left-- == 0) return hops[i];
  }
  return hops.front();
}

Topology::Hop Routes::next(const NextHopTable& table, int at, int from, int to,
                           std::uint64_t& digits) const {
  const NextHops& next_hops = table[static_cast<std::size_t>(inner_[static_cast<std::size_t>(at)])];
  const auto hops = topology_.hops(at);
  std::uint64_t left = choose(digits, from, to, next_hops.distance, next_hops.count);
  if ((next_hops.first & kScattered) == 0) return hops[next_hops.first + left];
  for (std::size_t i = next_hops.first & ~kScattered;; ++i) {
    const int inner = inner_[static_cast<std::size_t>(hops[i].to)];
    if (inner < 0 || table[static_cast<std::size_t>(inner)].distance >= next_hops.distance)
      continue;
    if (left-- == 0) return hops[i];
  }
}

const Routes::NextHopTable& Routes::table_to(int goal) {
  NextHopTable& table = tables_[static_cast<std::size_t>(inner_[static_cast<std::size_t>(goal)])];
  if (!table.empty()) return table;
  if (++searched_ * inners_ > kMostTableEntries) {
    for (NextHopTable& earlier : tables_) earlier = {};
    searched_ = 1;
  }
  table = search(goal);
  return table;
}

Routes::NextHopTable Routes::search(int goal) const {
  NextHopTable table(inners_);
  const auto next_hops_of = [&](int vertex) -> NextHops& {
    return table[static_cast<std::size_t>(inner_[static_cast<std::size_t>(vertex)])];
  };
  std::vector<int> order{goal};
  next_hops_of(goal).distance = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto farther = static_cast<std::uint16_t>(next_hops_of(order[i]).distance + 1);
    for (const Topology::Hop& hop : topology_.hops(order[i])) {
      if (is_leaf(hop.to) || next_hops_of(hop.to).distance != kFar) continue;
      next_hops_of(hop.to).distance = farther;
      order.push_back(hop.to);
    }
  }
  for (const int vertex : order) find_next_hops(vertex, table);
  return table;
}

/// Stores which hops of a vertex lead nearer.
void Routes::find_next_hops(int vertex, NextHopTable& table) const {
  NextHops& next_hops = table[static_cast<std::size_t>(inner_[static_cast<std::size_t>(vertex)])];
  const auto hops = topology_.hops(vertex);
  std::size_t last = 0;
  for (std::size_t i = 0; i < hops.size() && next_hops.count < kFar; ++i) {
    const int inner = inner_[static_cast<std::size_t>(hops[i].to)];
    if (inner < 0 || table[static_cast<std::size_t>(inner)].distance >= next_hops.distance)
      continue;
    if (next_hops.count++ == 0) next_hops.first = static_cast<std::uint32_t>(i);
    last = i;
  }
  if (next_hops.count > 0 && last - next_hops.first + 1 > next_hops.count)
    next_hops.first |= kScattered;
}

}  // namespace tutti::v0
