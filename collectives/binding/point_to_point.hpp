/// @file
/// Messages between two ranks, as schedules of one round.
#pragma once

#include <string>

#include <tutti/call.hpp>

#include "collectives/execution/execution.hpp"

namespace tutti::v0::detail {

/// Checks a point-to-point call made on a communicator of `size` ranks. Throws
/// Error{invalid_argument}. @param options of it. @param size number of ranks.
void check_point_to_point(const Call& call, const Options& options, int size);

/// Refuses a tag that there is not. Throws Error{invalid_argument}. @param tags how many the
/// transport has for such calls.
void check_tag(const Call& call, std::uint32_t tags);

/// @param call that was checked. @return what runs it.
[[nodiscard]] Binding bind_point_to_point(const Call& call);

/// @param binding of a point-to-point call. @param tag the user's. @return the call in words.
[[nodiscard]] std::string words_of(const Binding& binding, int tag);

}  // namespace tutti::v0::detail
