#include "memory_domain.hpp"

#include <algorithm>

namespace tutti::runtime {

void MemoryDomain::add(Rank rank) noexcept {
  if (count++ == 0) lowest = rank;
  names = (names ^ static_cast<std::uint64_t>(rank + 1)) * 0x9e3779b97f4a7c15U;
  names ^= names >> 29U;
}

MemoryDomain memory_domain_of(const std::vector<Rank>& ranks) {
  MemoryDomain own;
  for (const Rank rank : ranks) own.add(rank);
  return own;
}

MemoryDomain memory_domain_of(Rank self, const std::vector<MeshLink>& links) {
  std::vector<Rank> ranks{self};
  for (const MeshLink& link : links)
    if (link.local) ranks.push_back(link.peer);
  std::ranges::sort(ranks);
  return memory_domain_of(ranks);
}

// If as many ranks as a domain has report the same domain, each of them is in it, so these are all.
std::vector<Rank> memory_domains_of(const std::vector<MemoryDomain>& domains) {
  std::vector<Rank> memory_domains;
  for (const MemoryDomain& own : domains) {
    const auto agree = std::ranges::count(domains, own);
    const auto rank = static_cast<Rank>(memory_domains.size());
    memory_domains.push_back(agree == own.count ? own.lowest : rank);
  }
  return memory_domains;
}

}  // namespace tutti::runtime
