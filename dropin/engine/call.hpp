/// @file
/// The common part of all collectives: who serves a call, and how tutti runs it.
#pragma once

#include <mpi.h>

#include <chrono>
#include <cstddef>

#include <tutti/call.hpp>
#include <tutti/error.hpp>

#include "dropin/engine/choice.hpp"
#include "dropin/engine/mpi_functions.hpp"
#include "dropin/engine/recent_calls.hpp"
#include "dropin/engine/state.hpp"
#include "dropin/engine/task.hpp"
#include "dropin/engine/timed_call.hpp"

namespace tutti::dropin {

/// The origin of a call.
struct Origin {
  const void* caller = nullptr;  ///< The return address of the program's call.
  Form form{};
  ChosenMpi* chosen = nullptr;  ///< Set by a call that blocks, if others like it go to the MPI.
};

/// Finds where the MPI's library lies.
void find_the_mpi(void* (*find)(const char*) noexcept) noexcept;
/// @return whether a call comes from that library. @param caller the address behind the call.
[[nodiscard]] bool is_from_the_mpi(const void* caller) noexcept;

/// @return the communicator if tutti serves the call; null, after counting the reason, if the MPI
/// does. Collective at the first call of a communicator that blocks. Earlier ones that only start
/// are the MPI's, since they must not wait.
[[nodiscard]] State* admit(MPI_Comm comm, const Origin& origin);

/// Counts a call that the MPI serves, for a reason in its arguments.
inline void decline(Reason reason) noexcept {
  count(reason);
}

/// Runs, starts or prepares a call, and counts those that it runs or starts. @return MPI_SUCCESS,
/// or the code that the communicator's error handler got.
int run(State& state, const Origin& origin, MPI_Comm comm, Task& task);

/// Gives an error to the error handler of a communicator. @return its code, if the handler returns.
int raise(MPI_Comm comm, const Error& error);

/// Runs or starts a call by tutti, unless TUTTI_MPI leaves it to the MPI. If it blocks, the MPI may
/// run it instead, where that is faster.
/// @tparam kName and the others: as hand_on. @param serve runs it by tutti. @param arguments of
/// hand_on. @return the code of whoever ran it.
template <Name kName, class Count, class Serve, class... A>
int choose(State& state, const Origin& origin, MPI_Comm comm, const SimilarCalls& calls,
           const Serve& serve, A... arguments) {
  static const std::size_t least = least_bytes(kName.view());
  if (origin.form.blocks()) state.same_calls.add(calls);
  if (calls.bytes.value_or(0) < least) {
    count(Reason::off);
    return hand_on<kName, Count>(origin.form, comm, arguments...);
  }
  const auto serve_or_raise = [&] {
    try {
      return serve();
    } catch (const Error& error) {  // data that the MPI does not pack
      return raise(comm, error);
    }
  };
  if (!origin.form.blocks()) return serve_or_raise();
  Choice* const choice = lets_mpi(state, calls) ? &state.choices.of(calls) : nullptr;
  const Choice::Turn turn = choice != nullptr ? choice->begin() : Choice::Turn{};
  const auto run_by = [&] {
    if (turn.runner == Runner::tutti) return serve_or_raise();
    count(turn.is_sample ? Reason::sample : Reason::faster);
    return hand_on<kName, Count>(Form{}, comm, arguments...);
  };
  if (!turn.is_sample && !reports_times()) {
    // Numbers in arrays may change where they lie.
    constexpr bool kHasArrays = (kIsArray<A> || ...);
    if (turn.runner == Runner::mpi && (!kHasArrays || !calls.bytes))
      *origin.chosen = {&state, choice, calls, freed()};
    return run_by();
  }
  TimedCall timed{state, calls, origin.caller};
  const int code = run_by();
  const std::chrono::nanoseconds time = timed.end(turn.runner);
  if (turn.is_sample) choice->end(turn.runner, time, comm);
  return code;
}

/// Copies the input of a call that was rejected because it overlaps the output: MPI forbids that,
/// but MPIs accept it, such as an own block that is given twice. @return whether it was that.
bool copies_input(const Error& error, Task& task);

/// Runs a step of a call that throws Error, and once more with a copy of the input if that helps.
/// @return MPI_SUCCESS, or the code that the communicator's error handler got.
template <class Step>
int run_step(MPI_Comm comm, Task& task, const Step& step) {
  try {
    try {
      step();
    } catch (const Error& error) {
      if (!copies_input(error, task)) throw;
      step();
    }
  } catch (const Error& error) {
    return raise(comm, error);
  }
  return MPI_SUCCESS;
}

}  // namespace tutti::dropin
