/// @file
/// The candidates of a sweep.
#pragma once

#include <string>
#include <vector>

#include <tutti/types.hpp>

#include "perf/sweep/options.hpp"
#include "perf/sweep/workload.hpp"

namespace tutti::perf {

/// How a candidate is called.
enum class CandidateType : std::uint8_t {
  forced,     ///< One of tutti's algorithms, by name.
  automatic,  ///< A plain call: tutti's selector chooses.
  native,     ///< The launching MPI's blocking call.
  mockup,     ///< Other calls with the same result: native ones, or plain ones without an MPI.
  probe       ///< Plain loads and stores, see probe.hpp. Only if it is named.
};

struct MockupRule;

/// One way to run a collective.
struct Candidate {
  std::string label{};       ///< Unique within the sweep: "ring", "knomial:k=4", "ring#2".
  std::string algorithm{};   ///< "ring", "auto", "native".
  std::string parameters{};  ///< "k=4", or empty.
  std::string choice{};      ///< Value of Options::algorithm; empty unless forced.
  CandidateType kind = CandidateType::forced;  ///< How it is called.
  double inject = 0;                           ///< Share of time that is added on purpose.
  std::size_t segment = 0;                     ///< As Options::segment; 0: that of the sweep.
  const MockupRule* rule = nullptr;            ///< The rule of a mock-up.
  std::optional<Alignment> align{};  ///< Alignment of its arrays, if it differs from the sweep's.
};

/// The candidates for one collective: the named ones, or every row of the catalog that supports
/// this number of ranks, then auto, then native if there is a library; then all of them again for
/// each further alignment, such as "auto@16:page". Throws Failure{usage} if no collective of the
/// sweep has a name. @param collective nothing for messages between ranks, which have no
/// algorithms. @param has_library whether a library with calls of its own launched the ranks.
/// @return the candidates, in the order of the table.
[[nodiscard]] std::vector<Candidate> candidates_for(std::optional<Collective> collective,
                                                    const SweepOptions& options, int size,
                                                    bool has_library);

/// In a scatterv, gatherv and all_to_allv, each rank knows only its own counts. Removes candidates
/// that need the counts of all ranks there, unless they were named.
void keep_fitting(const Workload& workload, const SweepOptions& options,
                  std::vector<Candidate>& candidates);

/// Throws Failure{usage} with the verifier's finding if a named algorithm that a file added is
/// wrong.
void require_proofs(const Workload& workload, const SweepOptions& options,
                    const std::vector<Candidate>& candidates);

/// Checks that each named algorithm and injected label exists. Throws Failure{usage}. @param
/// has_library see candidates_for.
void check_names(const SweepOptions& options, int size, bool has_library);

}  // namespace tutti::perf
