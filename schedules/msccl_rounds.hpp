/// @file
/// Rounds of programs that were written for MSCCL, by what waits for what.
#pragma once

#include <vector>

#include <tutti/spi/schedule.hpp>

#include "schedules/written_xml.hpp"

namespace tutti::inline v0::written {

/// Gives every step the earliest round in which it can be, and a message the same one at both ends.
/// Throws Error{invalid_argument} for what cannot be, also for steps that wait for each other.
/// @param xml what a file says; its gpus in the order of their ids. @param collective what for.
/// @return a schedule of every rank.
[[nodiscard]] std::vector<Schedule> rounds_of(const XmlAlgorithm& xml, Collective collective);

}  // namespace tutti::inline v0::written
