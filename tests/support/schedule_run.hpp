/// @file
/// Runs schedules that no catalog has: through binder and executor, over a simulated cluster.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include <tutti/spi/schedule.hpp>

#include "tests/support/experiment.hpp"

namespace tutti::harness {

/// How schedules are run.
struct ScheduleRun {
  std::size_t segments = 1;  ///< Pieces of the vector; no more than its largest block has elements.
  std::uint64_t seed = 1;    ///< Seed of the cluster, and of the order of ranks.
};

/// Runs schedules as a communicator would run an algorithm's, and checks results, inputs and
/// guards.
/// @param schedules one per rank. @param experiment the buffers; its algorithm and segment do not
/// count. @param how see ScheduleRun. @return what went wrong, if anything did.
[[nodiscard]] std::string run_schedules(std::span<const Schedule> schedules, Experiment& experiment,
                                        const ScheduleRun& how);

}  // namespace tutti::harness
