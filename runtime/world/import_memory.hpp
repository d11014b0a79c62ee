/// @file
/// Memory of the program that ranks of a host see.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include <tutti/import_memory.hpp>
#include <tutti/types.hpp>

#include "backends/shm/domain.hpp"
#include "base/all_or_none.hpp"

namespace tutti::runtime {

/// As Group::import_memory. @param domain not null. @param numbers of the ranks in it, by rank;
/// those that it does not reach are on other hosts.
[[nodiscard]] std::shared_ptr<std::byte> import_memory(const std::shared_ptr<shm::Domain>& domain,
                                                       std::span<const Rank> numbers,
                                                       const MappedFile& file,
                                                       const detail::Exchange& exchange);

}  // namespace tutti::runtime
