/// @file
/// The proof of an algorithm that is not tutti's own, required before it runs.
#pragma once

#include <cstdint>
#include <string>

#include <tutti/spi/algorithm.hpp>
#include <tutti/spi/contract.hpp>

namespace tutti::v0::detail {

/// The outcome for a choice, on one number of ranks and with one root.
struct Proof {
  std::string refusal{};     ///< Why it must not run; empty if it is proved.
  std::uint64_t digest = 0;  ///< Ranks compare this digest of all ranks' schedules.
};

/// Builds the schedules of all ranks and verifies them, with all claims of the row.
[[nodiscard]] Proof prove(const Choice& choice, const Contract& contract);

}  // namespace tutti::v0::detail
