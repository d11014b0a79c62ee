/// @file
/// A choice that is looked at, and why it may not serve.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tutti/determinism.hpp>
#include <tutti/spi/algorithm.hpp>

#include "network_profile.hpp"
#include "problem.hpp"

namespace tutti::v0::detail {

/// A candidate and what became of it.
struct Candidate {
  Choice choice{};
  std::size_t segment_bytes = 0;  ///< 0 runs the vector as a whole.
  Femtoseconds predicted = 0;     ///< Meaningful if not rejected.
  std::string refusal{};          ///< Why it cannot serve; empty if it can.
  NetworkTerms terms{};           ///< What that is made of, if it was predicted on a network.
  std::uint64_t digest = 0;       ///< As Proof::digest, of what was added to the catalog.
  std::uint8_t route = 0;         ///< Index into Capabilities::transports.
  bool is_measured = false;       ///< Whether it was chosen by what was measured.
};

/// @param choice any. @param problem what it is to serve. @return why it cannot; empty if it can.
[[nodiscard]] std::string refusal_of(const Choice& choice, const Problem& problem);

/// So that no size runs another expression tree than the others: rejects those that have not that
/// of the first one in the catalog that can serve. Nothing here depends on a size.
/// @param candidates in the catalog's order. @param level that asks for it, for a person.
void keep_one_tree(std::vector<Candidate>& candidates, Determinism level);

}  // namespace tutti::v0::detail
