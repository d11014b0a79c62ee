/// @file
/// Proof: what must be known of an algorithm that is not tutti's own before it runs.
#pragma once

#include <cstdint>
#include <string>

#include <tutti/spi/algorithm.hpp>
#include <tutti/spi/contract.hpp>

namespace tutti::v0::detail {

/// What came of a choice for one number of ranks and one root.
struct Proof {
  std::string refusal{};     ///< Why it must not run; empty if it is proved.
  std::uint64_t digest = 0;  ///< Of all its schedules, so that ranks find out if theirs differ.
};

/// Builds the schedules of all ranks and verifies them, with all that the row claims.
/// @param choice any. @param contract what it is for. @return what came of it.
[[nodiscard]] Proof prove(const Choice& choice, const Contract& contract);

}  // namespace tutti::v0::detail
