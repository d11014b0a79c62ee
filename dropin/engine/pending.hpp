/// @file
/// Nonblocking calls that tutti runs. The program's requests are the MPI's own: each is a receive
/// of no bytes, for which the engine sends a message to itself when the call has ended.
#pragma once

#include <mpi.h>

#include <atomic>

#include "dropin/engine/state.hpp"
#include "dropin/engine/task.hpp"

namespace tutti::dropin {

/// Makes the communicator of those messages. Called once, when the MPI is initialised.
void prepare_requests() noexcept;

/// Starts a call, and makes its request. Throws Error; then nothing was started, and `task` is as
/// before.
void start(State& state, Task& task, MPI_Request* request);

namespace detail {
extern std::atomic<int> pending;
}

/// @return whether calls have been started that have not ended.
[[nodiscard]] inline bool has_pending() noexcept {
  return detail::pending.load(std::memory_order_relaxed) != 0;
}

/// Lets pending calls advance, and completes the requests of those that have ended. Any thread.
void poll() noexcept;

}  // namespace tutti::dropin
