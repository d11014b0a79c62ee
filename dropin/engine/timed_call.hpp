/// @file
/// The time of a blocking call, for the report and for samples.
#pragma once

#include <chrono>
#include <cstdint>

#include "dropin/engine/state.hpp"
#include "dropin/engine/times.hpp"

namespace tutti::dropin {

/// A blocking call whose time is taken.
class TimedCall {
 public:
  /// Begins it. @param caller the return address of the program's call.
  TimedCall(State& state, const SimilarCalls& calls, const void* caller);
  /// Ends it, and adds its time to the report if there is one. @return the time.
  std::chrono::nanoseconds end(Runner runner);

 private:
  State& state_;
  SimilarCalls calls_;
  const Site* site_ = nullptr;
  bool is_kept_ = false;
  std::uint64_t number_ = 0;  // among those kept
  std::chrono::steady_clock::time_point begin_{};
};

/// Compares the times that a state keeps. Collective, once the ranks have found that they made the
/// same calls.
void compare_times(State& state);
/// Compares the times that are left in MPI_COMM_WORLD. Collective, when the MPI ends; in the state
/// of a world whose ranks are connected.
void compare_at_end(State& world);

}  // namespace tutti::dropin
