/// @file
/// Errors that one rank meets and all ranks throw.
#pragma once

#include <tutti/communicator.hpp>

namespace tutti::inline v0::detail {

/// Ends a part of a call in which ranks may have met Errors, each by itself. Collective.
/// @param world its ranks. @param own how it went on this rank. @param timeout as of Options.
/// Throws the Error of the lowest rank that has one, on all ranks.
void agree(Communicator& world, const Result<void>& own, Duration timeout);

}  // namespace tutti::inline v0::detail
