/// @file
/// A candidate for a call, and the reason for its rejection.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tutti/determinism.hpp>
#include <tutti/spi/algorithm.hpp>

#include "network_profile.hpp"
#include "problem.hpp"

namespace tutti::v0::detail {

/// A candidate and its fate in the selection.
struct Candidate {
  Choice choice{};
  std::size_t segment_bytes = 0;  ///< 0 runs the vector as a whole.
  Femtoseconds predicted = 0;     ///< Meaningful if not rejected.
  std::string refusal{};          ///< Reason of the rejection; empty if it can run.
  NetworkTerms terms{};           ///< Terms of the prediction, if it was made on a network.
  std::uint64_t digest = 0;       ///< Proof::digest, if the algorithm was added to the catalog.
  std::uint8_t route = 0;         ///< Index into Capabilities::transports.
  bool is_measured = false;       ///< Whether measurements decided.
};

/// @return the reason why a choice cannot run a problem; empty if it can.
[[nodiscard]] std::string refusal_of(const Choice& choice, const Problem& problem);

/// Rejects candidates whose expression tree differs from that of the first one in the catalog that
/// can run, so that all sizes run one tree. Nothing here depends on a size. @param candidates in
/// the catalog's order. @param level requires it; the reason names it.
void keep_one_tree(std::vector<Candidate>& candidates, Determinism level);

}  // namespace tutti::v0::detail
