/// @file
/// How much of a reduction's rounding may change from one call to the next.
#pragma once

#include <cstdint>
#include <string_view>

#include <tutti/export.hpp>
#include <tutti/version.hpp>

namespace tutti::v0 {

/// What a caller may rely on about the bits of a reduction; each level promises those before it,
/// too. Equal on all ranks. Collectives that reduce nothing keep all of them anyway.
enum class Determinism : std::uint8_t {
  fast,             ///< A right result.
  rank_identical,   ///< The same bits on all ranks, where all get the result.
  run_to_run,       ///< The same bits in every run with the same ranks and sizes.
  size_invariant,   ///< An element's bits depend neither on how many elements travel with it nor
                    ///< on segments: all sizes run algorithms of one expression tree.
  layout_invariant  ///< Nor do they depend on where ranks sit and what connects them.
};

/// Number of enumerators of Determinism.
inline constexpr int kDeterminisms = 5;

/// @param level any enumerator. @return its name, such as "run_to_run".
[[nodiscard]] TUTTI_API std::string_view name_of(Determinism level) noexcept;

}  // namespace tutti::v0
