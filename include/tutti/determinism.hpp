/// @file
/// Levels of determinism of reductions.
#pragma once

#include <cstdint>
#include <string_view>

#include <tutti/export.hpp>
#include <tutti/version.hpp>

namespace tutti::v0 {

/// A promise about the bits of a reduction. Each level includes those before it. Equal on all
/// ranks. Collectives without a reduction keep all levels.
enum class Determinism : std::uint8_t {
  fast,            ///< A correct result.
  rank_identical,  ///< The same bits on all ranks, where all get the result.
  run_to_run,      ///< The same bits in every run with the same ranks and sizes.
  /// An element's bits depend neither on the number of elements in the call nor on segments: all
  /// sizes run algorithms of one expression tree.
  size_invariant,
  layout_invariant  ///< Nor do they depend on the placement of ranks and their network.
};

/// Number of enumerators of Determinism.
inline constexpr int kDeterminisms = 5;

/// @return the name of a level, such as "run_to_run".
[[nodiscard]] TUTTI_API std::string_view name_of(Determinism level) noexcept;

}  // namespace tutti::v0
