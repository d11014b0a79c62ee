/// RankTable: the processes of a world's ranks, and where they run.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "process_links.hpp"

namespace tutti::runtime {

/// The ranks of a world and their links. Immutable.
class RankTable {
 public:
  RankTable() = default;
  /// @param links not null. @param numbers of the ranks' processes in the links, by rank. @param
  /// memory_domains as Mesh::memory_domains.
  RankTable(std::shared_ptr<const ProcessLinks> links, std::vector<Rank> numbers,
            std::vector<Rank> memory_domains);

  [[nodiscard]] std::size_t size() const noexcept { return numbers_.size(); }
  /// @return all ranks, ascending.
  [[nodiscard]] std::vector<Rank> all_ranks() const;
  [[nodiscard]] const ProcessLinks::LinkedPeer& peer(Rank rank) const {
    return links_->peer(numbers_[static_cast<std::size_t>(rank)]);
  }
  /// @return the lowest rank that `rank` shares memory with, which may be itself.
  [[nodiscard]] Rank memory_domain(Rank rank) const {
    return memory_domains_[static_cast<std::size_t>(rank)];
  }
  /// @return whether all members share memory with each other.
  [[nodiscard]] bool share_memory(std::span<const Rank> members) const;

  // Facts about some ranks, in the order of `members`.

  /// @return the numbers of their processes in the links.
  [[nodiscard]] std::vector<Rank> numbers_of(std::span<const Rank> members) const;
  /// @return their hosts, as CommunicatorParts::hosts.
  [[nodiscard]] std::vector<int> hosts_of(std::span<const Rank> members) const;
  [[nodiscard]] std::vector<Locality> localities_of(std::span<const Rank> members) const;
  [[nodiscard]] std::vector<PeerInfo> infos_of(std::span<const Rank> members) const;
  /// @return the number of different names among their hosts.
  [[nodiscard]] int count_hosts(std::span<const Rank> members) const;

 private:
  std::shared_ptr<const ProcessLinks> links_{};
  std::vector<Rank> numbers_{};
  std::vector<Rank> memory_domains_{};
  std::vector<int> hosts_{};
};

}  // namespace tutti::runtime
