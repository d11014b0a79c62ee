/// @file
/// Schedules as XML of MSCCL, which other tools for collectives write and read.
///
/// What tutti writes runs in place, with chunks numbered as units of the whole vector in all three
/// buffers. It has attributes beside MSCCL's own, which other readers may ignore: the root, units
/// and planes of the whole, and of each step its round, its place in the round, the side of an
/// operand, and `finish`; with these it reads the same schedules again. Where they are missing
/// rounds are found from what waits for what.
#pragma once

#include <string>
#include <string_view>

#include "collectives/print.hpp"
#include "perf/written.hpp"

namespace tutti::perf {

/// @param collective any. @return MSCCL's name for it, or ours where it has none.
[[nodiscard]] std::string_view msccl_name(Collective collective) noexcept;

/// @param printed schedules of all ranks. @return them as XML.
[[nodiscard]] std::string to_msccl(const Printed& printed);

/// Reads XML. Throws Error{invalid_argument} for what is none, what no schedule can say, and what
/// waits for itself. @param text of the file. @return what it says.
[[nodiscard]] Written from_msccl(const std::string& text);

}  // namespace tutti::perf
