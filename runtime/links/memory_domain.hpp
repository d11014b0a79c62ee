/// @file
/// Which ranks share memory, computed so that all ranks have the same result.
#pragma once

#include <cstdint>
#include <vector>

#include "mesh.hpp"

namespace tutti::runtime {

/// A group of ranks that share memory, as one of them sees it.
struct MemoryDomain {
  Rank lowest = 0;          ///< The lowest member.
  Rank count = 0;           ///< The number of members.
  std::uint64_t names = 0;  ///< A hash of the members.

  /// Adds a member. @param rank above all earlier ones.
  void add(Rank rank) noexcept;
  /// Equality of all members.
  friend bool operator==(const MemoryDomain&, const MemoryDomain&) = default;
};

/// @param ranks that share memory with this one, including itself, ascending.
[[nodiscard]] MemoryDomain memory_domain_of(const std::vector<Rank>& ranks);
/// @param links of the rank to all others.
[[nodiscard]] MemoryDomain memory_domain_of(Rank self, const std::vector<MeshLink>& links);
/// @param domains of all ranks, in their order. @return see Mesh::memory_domains. If a rank shares
/// memory with a part of a domain only, each of its ranks is a domain of its own.
[[nodiscard]] std::vector<Rank> memory_domains_of(const std::vector<MemoryDomain>& domains);

}  // namespace tutti::runtime
