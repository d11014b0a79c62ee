/// @file
/// Signals of event loops.
#pragma once

#include <tutti/version.hpp>

namespace tutti::v0 {

/// Throws Error{invalid_argument} if a descriptor is not open for writing, or its writes may block.
void check_eventfd(int descriptor);
/// Adds one to an eventfd. Never blocks, and has no effect where the descriptor is closed.
void signal_eventfd(int descriptor) noexcept;

}  // namespace tutti::v0
