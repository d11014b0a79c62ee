/// @file
/// The choice of a communicator, as data; Communicator::explain puts it in words.
#pragma once

#include <tutti/communicator.hpp>

#include "selector/selector.hpp"

namespace tutti::v0 {

/// @param communicator of ranks. @param call a collective, whose buffers are not looked at.
/// @param options of the call. @return what it would run, and every candidate. Throws
/// Error{invalid_argument} as the call.
[[nodiscard]] detail::Selection select_for(Communicator& communicator, const Call& call,
                                           const Options& options);

}  // namespace tutti::v0
