/// @file
/// Rounds of programs that were written for MSCCL, by what waits for what.
#pragma once

#include <tutti/spi/schedule_file.hpp>

#include "schedules/written_xml.hpp"

namespace tutti::v0::written {

/// Gives every step the earliest round in which it can be, and a message the same one at both ends.
/// Throws Error{invalid_argument} for what cannot be, also for steps that wait for each other.
/// @param xml a parsed file; its gpus in the order of their ids. @param collective what for.
/// @param written gets a schedule of every rank, and where its steps stand.
void add_rounds(const XmlAlgorithm& xml, Collective collective, WrittenSchedules& written);

}  // namespace tutti::v0::written
