/// @file
/// Datatypes and operators of MPI as tutti's.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <optional>

#include <tutti/operators.hpp>
#include <tutti/types.hpp>

#include "backends/mpi/datatypes.hpp"

namespace tutti::dropin {

/// The layout of a datatype, and its elements if tutti reduces them.
struct DatatypeFacts {
  std::size_t size = 0;        ///< Bytes of its data.
  MPI_Aint extent = 0;         ///< Bytes between two elements.
  bool is_contiguous = false;  ///< Whether memory has the data alone, in order.
  bool is_block =
      false;  ///< Whether no data lies outside the extent, so that elements may be copied by it.
  bool is_predefined = false;
  mpi::Numbers numbers = mpi::Numbers::none;
  /// The type in tutti; opaque where only the MPI reduces it.
  Datatype type = Datatype::opaque;
};

/// @return the facts of a valid datatype, until it is freed. Thread-safe.
[[nodiscard]] const DatatypeFacts& facts_of(MPI_Datatype type);
/// Forgets a datatype, whose handle may be another one's next.
void forget(MPI_Datatype type) noexcept;

/// A reduction as tutti runs it.
struct Reduction {
  Datatype type;
  std::size_t element_bytes;
  Operator op;
  /// Whether the order in which elements are combined does not change the result.
  bool is_exact = false;
};

/// @return what tutti runs for an operator on a datatype; none: the MPI must run or reject it.
/// Depends on what all ranks have in common.
[[nodiscard]] std::optional<Reduction> reduction_of(MPI_Datatype type, MPI_Op op);

}  // namespace tutti::dropin
