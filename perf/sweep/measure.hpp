/// @file
/// The measurement of one size: all candidates interleaved in shuffled rounds.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "perf/measured_world.hpp"
#include "perf/sweep/candidates.hpp"
#include "perf/sweep/workload.hpp"

namespace tutti::perf {

/// The results of one candidate at one size. Only rank 0 has the samples.
struct Measured {
  Candidate candidate{};           ///< The candidate.
  std::vector<double> times_us{};  ///< One sample per round: greatest time of all ranks per call.
  std::int64_t batch = 1;          ///< Calls per sample; 1 if calls are isolated.
  double first_us = 0;             ///< Time of the first call, with all preparations.
  std::size_t wrong = 0;           ///< Wrong elements on all ranks together.
  bool bit_equal = true;  ///< Whether all ranks have the same bits, if the collective requires it.
  bool checked = false;   ///< Whether results were checked.
  std::string runs{};     ///< The algorithm that ran, with parameters.
  std::size_t segment_bytes = 0;  ///< Segment of its pipeline, or 0.
  std::string refused{};          ///< Reason why it did not take part, or empty.
};

/// The settings of a measurement, equal on all ranks.
struct Setting {
  MeasuredWorld& world;            ///< The ranks.
  const SweepOptions& options;     ///< The flags.
  bool is_oversubscribed;          ///< Whether a host has more ranks than cores.
  std::function<void()> tick{};    ///< Called on every rank from time to time; reports progress.
  MeasuredWorld* fewer = nullptr;  ///< All ranks but the last, for mock-ups that leave it out.
  bool own_calls = false;          ///< Whether mock-ups consist of tutti's calls even under an MPI.
};

/// The outcome of measuring one size.
struct SizeResult {
  Workload workload{};               ///< Collective and size.
  std::vector<Measured> measured{};  ///< Every candidate, in the order given.
  bool interrupted = false;          ///< Whether a signal to any rank ended it early.
};

/// Collective: every rank calls it with the same arguments, before the measurement. @param workload
/// of any count. @return the reason why the candidate can run at no size, or nothing.
[[nodiscard]] std::string refusal_of(MeasuredWorld& world, const Workload& workload,
                                     const Candidate& candidate);

/// Checks whether one of tutti's algorithms is deterministic enough. @param workload of any count.
/// @param level the required level. @return the reason why it is not, or nothing.
[[nodiscard]] std::string determinism_gap(MeasuredWorld& world, const Workload& workload,
                                          const Candidate& candidate, Determinism level);

/// Measures all candidates. Collective: every rank calls it with the same arguments.
[[nodiscard]] SizeResult measure_size(const Setting& setting, const Workload& workload,
                                      const std::vector<Candidate>& candidates);

}  // namespace tutti::perf
