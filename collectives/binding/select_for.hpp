/// @file
/// The choice of a communicator, as data; Communicator::explain returns it as text.
#pragma once

#include <tutti/communicator.hpp>

#include "selector/selector.hpp"

namespace tutti::v0 {

/// @param call a collective, whose buffers are not read or written. @return the choice for it, and
/// every candidate. Throws Error{invalid_argument} as the call would.
[[nodiscard]] detail::Selection select_for(Communicator& communicator, const Call& call,
                                           const Options& options);

}  // namespace tutti::v0
