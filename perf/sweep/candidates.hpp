/// @file
/// Who takes part in a sweep.
#pragma once

#include <string>
#include <vector>

#include <tutti/types.hpp>

#include "perf/sweep/options.hpp"
#include "perf/sweep/workload.hpp"

namespace tutti::perf {

/// How a candidate is called.
enum class Kind : std::uint8_t {
  forced,     ///< One of our algorithms, by name.
  automatic,  ///< A plain call: our selector decides.
  native,     ///< The launching MPI's blocking call.
  mockup,     ///< Other calls that do the same: native ones, or plain ones where there is no MPI.
  probe       ///< Plain loads and stores, see probe.hpp. Takes part where it is named.
};

struct MockupRule;

/// One way to run a collective.
struct Candidate {
  std::string label{};               ///< Unique within the sweep: "ring", "knomial:k=4", "ring#2".
  std::string algorithm{};           ///< "ring", "auto", "native".
  std::string parameters{};          ///< "k=4", or empty.
  std::string choice{};              ///< What Options::algorithm is given; empty unless forced.
  Kind kind = Kind::forced;          ///< How it is called.
  double inject = 0;                 ///< Share of time added on purpose.
  std::size_t segment = 0;           ///< As Options::segment; 0 takes that of the sweep.
  const MockupRule* rule = nullptr;  ///< Of a mock-up: which.
  std::optional<Alignment> align{};  ///< Where its arrays begin, if not as the sweep's others.
};

/// The candidates for one collective: those named, or every row of the catalog that admits this
/// number of ranks, then auto, then native where there is one; then all of them once more for each
/// further alignment, as in "auto@16:page". Throws Failure{usage} where a name
/// is unknown to all collectives of the sweep. @param collective which, or nothing for messages
/// between ranks, which have no algorithms. @param options of the sweep.
/// @param size number of ranks. @param has_library whether a library with calls of its own launched
/// them. @return the candidates, in the order of the table.
[[nodiscard]] std::vector<Candidate> candidates_for(std::optional<Collective> collective,
                                                    const SweepOptions& options, int size,
                                                    bool has_library);

/// Leaves out rows that need the counts of all ranks where each knows its own only: of a scatterv,
/// gatherv and all_to_allv. What was named stays. @param workload what is measured. @param options
/// of the sweep. @param candidates for it.
void keep_fitting(const Workload& workload, const SweepOptions& options,
                  std::vector<Candidate>& candidates);

/// Throws Failure{usage} with what the verifier found wrong in a named algorithm that is not one of
/// tutti's own. @param workload what is measured. @param options of the sweep. @param candidates
/// for it.
void require_proofs(const Workload& workload, const SweepOptions& options,
                    const std::vector<Candidate>& candidates);

/// Checks that each named algorithm and injected label exists somewhere. Throws Failure{usage}.
/// @param options of the sweep. @param size number of ranks. @param has_library see candidates_for.
void check_names(const SweepOptions& options, int size, bool has_library);

}  // namespace tutti::perf
