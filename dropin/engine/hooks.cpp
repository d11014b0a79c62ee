#include "dropin/engine/hooks.hpp"

#include <atomic>

#include "dropin/engine/mpi_functions.hpp"

namespace tutti::dropin {
namespace {

std::atomic<void (*)() noexcept> polled{nullptr};  // null: no longer

void poll_if_any() noexcept {
  if (auto* const poll = polled.load(std::memory_order_relaxed)) poll();
}

// Open MPI's signature, in which the result is the number of events.
using OpenMpiPoll = int (*)();
int poll_for_open_mpi() {
  poll_if_any();
  return 0;
}

template <class Function>
Function* function_of_mpi(const char* name) {
  return reinterpret_cast<Function*>(find_in_mpi(name));
}

}  // namespace

bool hook_into_progress(void (*poll)() noexcept) noexcept {
  polled.store(poll);
  if (auto* const open_mpi = function_of_mpi<int(OpenMpiPoll)>("opal_progress_register"))
    return open_mpi(poll_for_open_mpi) == 0;
  return false;
}

void leave_progress() noexcept {
  polled.store(nullptr);
  if (auto* const open_mpi = function_of_mpi<int(OpenMpiPoll)>("opal_progress_unregister"))
    open_mpi(poll_for_open_mpi);
}

}  // namespace tutti::dropin
