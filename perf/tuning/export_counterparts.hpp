/// @file
/// Pairs of equal algorithms of tutti and other libraries.
#pragma once

#include <span>
#include <string_view>

#include <tutti/types.hpp>

namespace tutti::perf {

/// A library whose choices can be configured.
enum class Library : std::uint8_t {
  openmpi,  ///< Open MPI's component coll/tuned, 4.x to 6.x.
  mpich,    ///< MPICH 4.0.
  mpich5,   ///< MPICH 4.1 to 5.0.
  intel,    ///< Intel MPI.
  ucc,      ///< UCC's transport layer over UCX.
  nccl      ///< NCCL, by its example tuner plugin.
};

/// An algorithm of a library, and the equal one of tutti.
struct Counterpart {
  Collective collective{};    ///< The operation.
  std::string_view ours{};    ///< Name of a row of the catalog.
  std::string_view theirs{};  ///< Name in the library.
  int number = 0;             ///< Number in the library, if it has one.
  bool has_segments = false;  ///< Whether the library lets users choose its segments.
  std::string_view
      parameters{};  ///< Parameters of tutti's algorithm, such as k=2, if only these make it equal.
};

/// @return all pairs of a library.
[[nodiscard]] std::span<const Counterpart> counterparts_of(Library library) noexcept;

/// @return the library's name of a collective; empty if its algorithm cannot be configured.
[[nodiscard]] std::string_view name_there(Library library, Collective collective) noexcept;

/// @return Open MPI's number of a collective; -1 of those without counterparts.
[[nodiscard]] int number_in_openmpi(Collective collective) noexcept;

/// @param library any. @return whether its rules can leave some sizes to its own choice.
[[nodiscard]] bool can_leave_sizes(Library library) noexcept;
/// @return whether the library's rules for a collective can depend on sizes.
[[nodiscard]] bool can_name_sizes(Library library, Collective collective) noexcept;

}  // namespace tutti::perf
