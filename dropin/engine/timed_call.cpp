#include "dropin/engine/timed_call.hpp"

#include <array>
#include <cstddef>
#include <vector>

#include <tutti/error.hpp>

#include "dropin/engine/report.hpp"
#include "dropin/engine/sites.hpp"

namespace tutti::dropin {
namespace {

Sites& sites() {
  static Sites* const sites = new Sites;  // the MPI may end after static objects
  return *sites;
}

}  // namespace

void compare_times(State& state) {
  if (!state.kept || state.kept->size() == 0) return;
  std::vector<std::int64_t> least = state.kept->keys(), sums = state.kept->times();
  state.communicator->all_reduce(least, min);
  state.communicator->all_reduce(sums);
  state.kept->compare(least, sums, state.size, times());
}

TimedCall::TimedCall(State& state, const SimilarCalls& calls, const void* caller)
    : state_{state}, calls_{calls}, is_kept_{state.kept && needs_all_ranks(calls.collective)} {
  if (is_kept_) number_ = state.kept->begin();
  if (reports_times()) site_ = &sites().of(caller);
  begin_ = std::chrono::steady_clock::now();
}

std::chrono::nanoseconds TimedCall::end(Runner runner) {
  const std::chrono::nanoseconds time = std::chrono::steady_clock::now() - begin_;
  if (!reports_times()) return time;
  Durations& durations = times().add(calls_, site_, runner, time);
  if (is_kept_) state_.kept->end(number_, durations, time);
  return time;
}

void compare_at_end(State& world) try {
  if (!world.kept) return;
  // An error that only some ranks have seen may have kept them from some calls.
  const bool is_served = world.reason == Reason::served;
  const auto own = static_cast<std::int64_t>(is_served ? world.kept->size() : 0);
  const std::array<std::int64_t, 2> numbers{own, -own};
  std::array<std::int64_t, 2> least{};
  PMPI_Allreduce(numbers.data(), least.data(), 2, MPI_INT64_T, MPI_MIN, MPI_COMM_WORLD);
  if (least[0] == -least[1] && own > 0) compare_times(world);
} catch (const Error&) {
  // One of the last calls has failed the communicator: their times are not divided.
}

}  // namespace tutti::dropin
