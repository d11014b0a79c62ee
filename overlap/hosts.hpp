/// @file
/// Which ranks share a host.
#pragma once

#include <algorithm>
#include <vector>

#include <tutti/communicator.hpp>

namespace tutti::inline v0::detail {

/// @param elements of all ranks. @param of a rank. @return the lowest rank that has the same.
template <class T>
Rank first_alike(const Gathered<T>& elements, Rank of) {
  Rank first = 0;
  while (!std::ranges::equal(elements[first], elements[of])) ++first;
  return first;
}

/// Collective. Ranks are on one host where name and boot of the system are equal. @param world its
/// ranks. @param options of which the timeout counts. @return of each rank the lowest one that is
/// on its host. Throws Error.
std::vector<Rank> first_ranks_of_hosts(Communicator& world, const Options& options);

}  // namespace tutti::inline v0::detail
