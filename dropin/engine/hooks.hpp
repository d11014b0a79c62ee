/// @file
/// Progress of tutti's calls inside the MPI's own waits.
#pragma once

namespace tutti::dropin {

/// Makes the MPI call a function whenever it makes progress, in any thread. @return whether it
/// will: Open MPI does. MPICH's MPIX_Async_start does not serve, since MPICH 5.0 calls the function
/// with a lock held, and ends the program if it calls MPI. Call it once, when the MPI is
/// initialised.
[[nodiscard]] bool hook_into_progress(void (*poll)() noexcept) noexcept;

/// Ends that. Called before the MPI ends.
void leave_progress() noexcept;

}  // namespace tutti::dropin
