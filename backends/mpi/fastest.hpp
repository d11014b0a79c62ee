/// @file
/// Which of two worlds of the same ranks is the faster one.
#pragma once

#include <tutti/communicator.hpp>

namespace tutti::inline v0::mpi {

/// Collective over both: runs a few all_reduce of a short and of a long vector on each.
/// @param one of the ranks. @param other of the same ones, in the same order. @return whether the
/// other one is the faster, by the times of rank 0, the same on all ranks. Throws Error.
[[nodiscard]] bool is_faster(Communicator& one, Communicator& other);

}  // namespace tutti::inline v0::mpi
