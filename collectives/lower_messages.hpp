/// @file
/// The lowering to messages, operation by operation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "lowering.hpp"
#include "rounds.hpp"
#include "units.hpp"

namespace tutti::inline v0::detail {

/// A round and what became of it.
struct LoweredRound {
  Round round{};
  std::vector<std::uint32_t> fused{};       ///< By fold: the message that it is combined with.
  std::vector<std::uint32_t> operations{};  ///< By message: its operation, or kNoMessage.
  std::vector<std::uint32_t> turns{};       ///< By message: as Shortcut::turn.
};

/// @param a a run. @param b another one of the same rank. @param in_place whether a unit's input
/// and output are the same memory. @return whether they have memory in common that is there before
/// the round.
[[nodiscard]] bool overlap(const Run& a, const Run& b, bool in_place) noexcept;

/// Finds the messages of two rounds, one after the other, that may be spared.
/// @param program has both; its shortcuts are filled.
void find_shortcuts(Program& program, const LoweredRound& first, const LoweredRound& second,
                    bool in_place);

}  // namespace tutti::inline v0::detail
