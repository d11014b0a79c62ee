/// @file
/// The state of each communicator of the program.
#pragma once

#include <mpi.h>

#include <memory>
#include <optional>

#include <tutti/communicator.hpp>

#include "dropin/engine/choice.hpp"
#include "dropin/engine/kept_calls.hpp"
#include "dropin/engine/report.hpp"
#include "dropin/engine/same_calls.hpp"
#include "dropin/engine/try_mutex.hpp"

namespace tutti::dropin {

/// A communicator of the program. Pending calls share it, since MPI lets a program free a
/// communicator before they end.
struct State : std::enable_shared_from_this<State> {
  std::optional<Communicator> communicator{};  ///< None: the MPI runs all collectives.
  Reason reason = Reason::served;              ///< Why the MPI does.
  TryMutex mutex{};   ///< Held in calls of the communicator, which serves one thread at a time.
  SameCalls same_calls{};  ///< Calls since the ranks are connected.
  Choices choices{};  ///< Between tutti and the MPI, for calls that block.
  Native native = Native::off;        ///< The calls that the MPI may run; equal on all ranks.
  std::unique_ptr<KeptCalls> kept{};  ///< On all ranks or none: if all of them want a report.
  int calls_before = 0;  ///< Collectives that block, before one of them connects the ranks.
  int rank = 0;
  int size = 1;
};

/// @return whether the MPI may run such calls.
[[nodiscard]] inline bool lets_mpi(const State& state, const SimilarCalls& calls) noexcept {
  return state.native == Native::all || (state.native == Native::exact && calls.is_exact);
}

/// To be called in each collective that blocks. Connects the ranks of MPI_COMM_WORLD in the first
/// one, and those of other communicators in a later one, since many communicators are freed after a
/// few calls. Threads may ask for different communicators at a time. @return the state of the
/// communicator.
[[nodiscard]] State& state_of(MPI_Comm comm);

/// @return the state of a communicator, or null if no call has made it.
[[nodiscard]] State* find_state(MPI_Comm comm);

/// Makes the MPI end all states before it ends itself. Called once, when the MPI is initialised.
void keep_until_finalize() noexcept;
/// @return whether MPI_Init has returned, and MPI_Finalize has not begun.
[[nodiscard]] bool has_world() noexcept;

}  // namespace tutti::dropin
