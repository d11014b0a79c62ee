/// @file
/// Which algorithm of another library is which of ours.
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

/// One algorithm there.
struct Counterpart {
  Collective collective{};        ///< The operation.
  std::string_view ours{};        ///< Name of a row of the catalog.
  std::string_view theirs{};      ///< What the library calls it.
  int number = 0;                 ///< Its number there, where it has one.
  bool has_segments = false;      ///< Whether it takes a length of segments.
  std::string_view parameters{};  ///< Of ours, such as k=2, where theirs is like no others.
};

/// @param library any. @return its counterparts of ours.
[[nodiscard]] std::span<const Counterpart> counterparts_of(Library library) noexcept;

/// @param library any. @param collective any. @return what the library calls it; empty where its
/// choice cannot be configured.
[[nodiscard]] std::string_view name_there(Library library, Collective collective) noexcept;

/// @return Open MPI's number of a collective; -1 of those without counterparts.
[[nodiscard]] int number_in_openmpi(Collective collective) noexcept;

/// @param library any. @return whether its rules can leave some sizes to its own choice.
[[nodiscard]] bool can_leave_sizes(Library library) noexcept;
/// @param library any. @param collective any. @return whether its rules can name sizes.
[[nodiscard]] bool can_name_sizes(Library library, Collective collective) noexcept;

}  // namespace tutti::perf
