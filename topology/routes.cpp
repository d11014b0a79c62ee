#include "routes.hpp"

namespace tutti::inline v0 {
namespace {

/// Spreads numbers that follow each other (the finalizer of MurmurHash3, by Appleby).
std::uint64_t spread(std::uint64_t key) noexcept {
  key = (key ^ key >> 33U) * 0xff51afd7ed558ccdU;
  key = (key ^ key >> 33U) * 0xc4ceb9fe1a85ec53U;
  return key ^ key >> 33U;
}

}  // namespace

void Routes::find(int from, int to, std::vector<int>& path) {
  path.clear();
  // All that is behind one link is as far away as where that link leads.
  const auto last = topology_.hops(to);
  const int goal = last.size() == 1 ? last.front().to : to;
  auto found = distances_.find(goal);
  if (found == distances_.end()) found = distances_.emplace(goal, topology_.distances(goal)).first;
  const std::vector<std::uint16_t>& distances = found->second;
  const auto distance = [&](int vertex) { return distances[static_cast<std::size_t>(vertex)]; };
  auto digits = static_cast<std::uint64_t>(to);  // that have not chosen yet
  for (int at = from; at != goal && from != to;) {
    const auto hops = topology_.hops(at);
    std::size_t nearer = 0;
    for (const Topology::Hop& hop : hops) nearer += distance(hop.to) < distance(at) ? 1 : 0;
    if (routing_ == Routing::balanced)
      digits = spread(static_cast<std::uint64_t>(to) << 32U ^ static_cast<std::uint64_t>(from) ^
                      static_cast<std::uint64_t>(distance(at)) << 20U);
    std::size_t left = digits % nearer;
    digits /= nearer;
    for (const Topology::Hop& hop : hops) {
      if (distance(hop.to) >= distance(at) || left-- > 0) continue;
      const Topology::Link& link = topology_.links()[static_cast<std::size_t>(hop.link)];
      path.push_back(2 * hop.link + (link.b == at ? 1 : 0));
      at = hop.to;
      break;
    }
  }
  if (goal == to || from == to) return;
  const int link = last.front().link;
  path.push_back(2 * link + (topology_.links()[static_cast<std::size_t>(link)].b == goal ? 1 : 0));
}

}  // namespace tutti::inline v0
