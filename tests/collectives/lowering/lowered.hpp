/// @file
/// Collectives that are lowered on all ranks, to be checked.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <tutti/spi/algorithm.hpp>

#include "collectives/lowering/lowering.hpp"
#include "program_check.hpp"

namespace tutti::test {

/// A schedule to be lowered, and the options.
struct LoweredCase {
  Contract contract{};
  std::vector<std::size_t> counts{};  ///< Counts of the blocks.
  bool is_equal = true;               ///< Whether they are lowered as equal blocks.
  std::size_t segments = 1;
  bool combines = true;        ///< As LoweringOptions::combines.
  bool visible = false;        ///< Whether messages of any size may stay where they are.
  bool lockstep = false;       ///< As Traits::lockstep.
  std::uint64_t in_place = 0;  ///< A bit for each rank: whether its input is its output.

  /// @return it, for a person.
  [[nodiscard]] std::string words() const;
};

/// All ranks' programs of one segment.
struct Lowered {
  std::vector<detail::Program> programs{};
  std::vector<detail::ProgramOfRank> ranks{};
};

/// @param schedules of all ranks. @param what to make of them. @param segment which one.
/// @return what they are lowered to.
[[nodiscard]] Lowered lower_all(const std::vector<Schedule>& schedules, const LoweredCase& what,
                                std::size_t segment);
/// @param schedules of all ranks. @param what is lowered. @param lowered what became of them.
/// @param segment which one. @return as check_programs.
[[nodiscard]] std::string check(const std::vector<Schedule>& schedules, const LoweredCase& what,
                                const Lowered& lowered, std::size_t segment);

/// @param contract of a collective. @param lockstep as Traits::lockstep. @return cases of it:
/// blocks of 7 elements, of 1, of none and of unequal numbers of them, in one segment and in three,
/// in place or not or each rank otherwise, and, where it reduces, in visible memory and in private.
[[nodiscard]] std::vector<LoweredCase> cases_of(const Contract& contract, bool lockstep);

/// Checks all rows of the catalog on `size` ranks, with several roots, and expects no problem.
/// @param size the number of ranks.
void check_rows(int size);

}  // namespace tutti::test
