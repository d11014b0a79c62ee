/// @file
/// Which ranks share memory, told so that all ranks come to the same answer.
#pragma once

#include <cstdint>
#include <vector>

#include "mesh.hpp"

namespace tutti::runtime {

/// What a rank says of the ranks it shares memory with, itself among them.
struct MemoryDomain {
  Rank lowest = 0;          ///< The lowest of them.
  Rank count = 0;           ///< How many they are.
  std::uint64_t names = 0;  ///< A hash of who they are.

  /// @param rank one more of them, in ascending order.
  void add(Rank rank) noexcept;
  /// Equality of all members.
  friend bool operator==(const MemoryDomain&, const MemoryDomain&) = default;
};

/// @param ranks that share memory with this one, itself among them, in ascending order. @return
/// what it says.
[[nodiscard]] MemoryDomain memory_domain_of(const std::vector<Rank>& ranks);
/// @param self own rank. @param links what it has to the others. @return what it says.
[[nodiscard]] MemoryDomain memory_domain_of(Rank self, const std::vector<Link>& links);
/// @param said by every rank, in the order of ranks. @return see Mesh::memory_domains. Where a rank
/// shares memory with some of a domain only, each of them counts as alone.
[[nodiscard]] std::vector<Rank> memory_domains_of(const std::vector<MemoryDomain>& said);

}  // namespace tutti::runtime
