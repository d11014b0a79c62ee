/// @file
/// Messages between two ranks, as schedules of one round.
#pragma once

#include <string>

#include <tutti/call.hpp>

#include "collectives/execution/execution.hpp"

namespace tutti::v0::detail {

/// Checks a point-to-point call made on a communicator of `size` ranks. Throws
/// Error{invalid_argument}.
void check_point_to_point(const Call& call, const Options& options, int size);

/// Rejects a tag out of range. Throws Error{invalid_argument}. @param tags how many tags the
/// transport has for point-to-point calls.
void check_tag(const Call& call, std::uint32_t tags);

/// @param call a checked one.
[[nodiscard]] Binding bind_point_to_point(const Call& call);

/// @param binding of a point-to-point call. @param tag the user's. @return a text for people.
[[nodiscard]] std::string words_of(const Binding& binding, int tag);

}  // namespace tutti::v0::detail
