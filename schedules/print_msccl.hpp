/// @file
/// Schedules as XML of MSCCL, which other tools for collectives write and read.
///
/// Chunks have MSCCL's own numbers: see MscclChunks. An all_to_all runs out of place, all other
/// collectives in place. Attributes beside MSCCL's own, which other readers may ignore, describe
/// the whole (root, units and planes) and each step (round, position in the round, slots, side of
/// an operand, and `finish`). With them read_msccl_schedules restores the same schedules.
#pragma once

#include <string>

#include "schedules/print.hpp"

namespace tutti::v0 {

/// @param printed schedules of all ranks.
[[nodiscard]] std::string to_msccl(const Printed& printed);

}  // namespace tutti::v0
