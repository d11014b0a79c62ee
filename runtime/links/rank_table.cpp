#include "rank_table.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <utility>

namespace tutti::runtime {
namespace {

template <class Entry>
auto list_of(std::span<const Rank> members, const Entry& entry) {
  std::vector<std::decay_t<decltype(entry(Rank{}))>> list;
  list.reserve(members.size());
  for (const Rank member : members) list.push_back(entry(member));
  return list;
}

}  // namespace

RankTable::RankTable(std::shared_ptr<const ProcessLinks> links, std::vector<Rank> numbers,
                     std::vector<Rank> memory_domains)
    : links_{std::move(links)}, numbers_{std::move(numbers)}, memory_domains_{std::move(
                                                                  memory_domains)},
      hosts_(memory_domains_) {
  if (links_->segment() != nullptr) return;
  // No rank shares memory, so equal names mean one host.
  std::map<std::string, int> hosts;
  for (const Rank rank : all_ranks())
    hosts_[static_cast<std::size_t>(rank)] =
        hosts.emplace(peer(rank).info.host.name, rank).first->second;
}

std::vector<Rank> RankTable::all_ranks() const {
  std::vector<Rank> ranks(size());
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

bool RankTable::share_memory(std::span<const Rank> members) const {
  return std::ranges::all_of(members, [&](Rank member) {
    return memory_domain(member) == memory_domain(members.front());
  });
}

std::vector<Rank> RankTable::numbers_of(std::span<const Rank> members) const {
  return list_of(members, [this](Rank rank) { return numbers_[static_cast<std::size_t>(rank)]; });
}

std::vector<int> RankTable::hosts_of(std::span<const Rank> members) const {
  return list_of(members, [this](Rank rank) { return hosts_[static_cast<std::size_t>(rank)]; });
}

std::vector<Locality> RankTable::localities_of(std::span<const Rank> members) const {
  return list_of(members, [this](Rank rank) { return peer(rank).info.locality; });
}

std::vector<PeerInfo> RankTable::infos_of(std::span<const Rank> members) const {
  return list_of(members, [this](Rank rank) { return peer(rank).info; });
}

int RankTable::count_hosts(std::span<const Rank> members) const {
  std::set<std::string> hosts;
  for (const Rank member : members) hosts.insert(peer(member).info.host.name);
  return static_cast<int>(hosts.size());
}

}  // namespace tutti::runtime
