/// @file
/// Finds the rounds of MSCCL's programs, from their dependencies.
#pragma once

#include <tutti/spi/schedule_file.hpp>

#include "schedules/written_xml.hpp"

namespace tutti::v0::written {

/// Gives every step the earliest possible round, and a message the same round at both ends. Throws
/// Error{invalid_argument} for invalid steps, and for steps that wait for each other. @param xml a
/// parsed file; its gpus in the order of their ids. @param written gets the schedule of every rank,
/// and the places of its steps.
void add_rounds(const XmlAlgorithm& xml, Collective collective, WrittenSchedules& written);

}  // namespace tutti::v0::written
