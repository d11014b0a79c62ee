/// @file
/// Schedules as XML of MSCCL, which other tools for collectives write and read.
///
/// Chunks have MSCCL's own numbers, see MscclChunks; an all_to_all runs out of place, all else in
/// place. There are attributes beside MSCCL's own, which other readers may ignore: the root, units
/// and planes of the whole, and of each step its round, its place in the round, its slots, the side
/// of an operand, and `finish`; with these read_msccl_schedules gives the same schedules again.
#pragma once

#include <string>

#include "schedules/print.hpp"

namespace tutti::v0 {

/// @param printed schedules of all ranks. @return them as XML.
[[nodiscard]] std::string to_msccl(const Printed& printed);

}  // namespace tutti::v0
