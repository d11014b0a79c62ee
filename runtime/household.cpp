#include "household.hpp"

#include <algorithm>

namespace tutti::runtime {

void Household::add(Rank rank) noexcept {
  if (count++ == 0) lowest = rank;
  names = (names ^ static_cast<std::uint64_t>(rank + 1)) * 0x9e3779b97f4a7c15U;
  names ^= names >> 29U;
}

Household household_of(const std::vector<Rank>& ranks) {
  Household own;
  for (const Rank rank : ranks) own.add(rank);
  return own;
}

Household household_of(Rank self, const std::vector<Link>& links) {
  std::vector<Rank> ranks{self};
  for (const Link& link : links)
    if (link.local) ranks.push_back(link.peer);
  std::ranges::sort(ranks);
  return household_of(ranks);
}

// As many as a household has say the same of it, each of which is in its own: so all of them do.
std::vector<Rank> households_of(const std::vector<Household>& said) {
  std::vector<Rank> households;
  for (const Household& own : said) {
    const auto agree = std::ranges::count(said, own);
    const auto rank = static_cast<Rank>(households.size());
    households.push_back(agree == own.count ? own.lowest : rank);
  }
  return households;
}

}  // namespace tutti::runtime
