/// @file
/// Predefined datatypes and operators of MPI as tutti's, which the drop-in uses too.
#pragma once

#include <mpi.h>

#include <cstdint>

#include <tutti/types.hpp>

namespace tutti::v0::mpi {

/// Elements of a datatype, by the operators of MPI that are defined on them.
enum class Numbers : std::uint8_t {
  none,
  integers,
  bits,
  reals,
  complex_numbers,
  truth_values,
  pairs
};

/// The elements of a datatype.
struct Elements {
  Numbers numbers = Numbers::none;   ///< None: it is derived, or MPI defines no operator on it.
  Datatype type = Datatype::opaque;  ///< Opaque: tutti has no such type.
};

/// @param type a valid datatype. @return its elements.
[[nodiscard]] Elements elements_of(MPI_Datatype type);

/// @return whether MPI defines an operator on elements.
[[nodiscard]] bool is_defined_in_mpi(OperatorKind kind, Numbers numbers) noexcept;

}  // namespace tutti::v0::mpi
