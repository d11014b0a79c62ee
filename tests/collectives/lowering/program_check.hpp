/// @file
/// A checker of programs: whether what schedules were lowered to still does what they say. It
/// takes nothing from lowering but the programs themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <tutti/spi/contract.hpp>
#include <tutti/spi/schedule.hpp>

#include "proof/program.hpp"

namespace tutti::v0::detail {

/// One rank's part.
struct ProgramOfRank {
  const Program* program = nullptr;
  std::size_t shift = 0;  ///< Bytes by which it is run behind the beginning of input and output.
  bool in_place = false;  ///< Whether input and output are one memory.
};

/// One segment of a collective, on all ranks.
struct ProgramQuestion {
  Contract contract{};
  std::span<const Schedule> schedules{};
  std::span<const ProgramOfRank> ranks{};
  std::span<const std::size_t> counts{};  ///< Elements of each block of the whole vector.
  std::size_t segment = 0;
  std::size_t segments = 1;
  std::size_t element_bytes = 1;
  std::uint64_t seed = 1;  ///< Seed of the order of operations.
};

/// Proves, of all programs together: messages match in number and bytes; nothing waits for itself,
/// even where no message moves before both ends wait for it; every two accesses to the same bytes
/// of which one writes are ordered; places lie within the memory there is; and, played in any legal
/// order, each result is the same expression of the same contributions, as the schedules say.
/// @param question what to check. @return what is wrong first, or nothing.
[[nodiscard]] std::string check_programs(const ProgramQuestion& question);

}  // namespace tutti::v0::detail
