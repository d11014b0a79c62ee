/// @file
/// The MPI of a test program under a launcher, if it has one.
#pragma once

namespace tutti::runtime {

/// Initialises MPI and meets all ranks in a barrier.
void begin_mpi();

/// Meets all ranks in a barrier and finalises MPI.
void end_mpi();

}  // namespace tutti::runtime
