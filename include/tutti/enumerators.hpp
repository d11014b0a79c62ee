/// @file
/// The enumerations of a call: collectives, messages, datatypes, operators; and ranks.
/// <tutti/types.hpp> has a table of facts for each, in the same order.
#pragma once

#include <chrono>
#include <cstdint>

#include <tutti/version.hpp>

namespace tutti::v0 {

/// Index of a process in a communicator, 0 .. size - 1.
using Rank = int;
/// Value for a sender: any rank.
inline constexpr Rank any_rank = -1;
/// A duration, or a time since an arbitrary start.
using Duration = std::chrono::nanoseconds;

/// The operations of a communicator. Names follow the MPI standard, spelled out.
enum class Collective : std::uint8_t {
  all_reduce,      ///< Every rank gets the reduction of all ranks' vectors.
  reduce,          ///< The root gets the reduction of all ranks' vectors.
  broadcast,       ///< Every rank gets the root's vector.
  scatter,         ///< Rank r gets block r of the root's vector.
  gather,          ///< The root gets the concatenation of all ranks' blocks.
  all_gather,      ///< Every rank gets the concatenation of all ranks' blocks.
  reduce_scatter,  ///< Rank r gets block r of the reduction of all ranks' vectors.
  all_to_all,      ///< Rank r gets block r of every rank's vector.
  scan,            ///< Rank r gets the reduction of the vectors of ranks 0 .. r.
  exscan,   ///< Rank r gets the reduction of the vectors of ranks 0 .. r - 1; rank 0 nothing.
  barrier,  ///< No rank leaves before every rank has entered.
};

/// Kinds of messages between two ranks.
enum class PointToPoint : std::uint8_t {
  none,      ///< No message: a collective.
  send,      ///< To the peer.
  recv,      ///< From the peer.
  sendrecv,  ///< To one rank, and from the same or another one.
};

/// Tags of messages between two ranks are 0 .. kUserTags - 1.
inline constexpr int kUserTags = 8192;

/// The element types. Storage sizes are fixed and equal on all platforms.
enum class Datatype : std::uint8_t {
  i8,         ///< std::int8_t
  i16,        ///< std::int16_t
  i32,        ///< std::int32_t
  i64,        ///< std::int64_t
  u8,         ///< std::uint8_t, also std::byte and bool; char is i8 or u8, as its signedness
  u16,        ///< std::uint16_t
  u32,        ///< std::uint32_t
  u64,        ///< std::uint64_t
  f16,        ///< IEEE 754 binary16, see Float16
  bf16,       ///< the upper half of binary32, see BFloat16
  f32,        ///< float
  f64,        ///< double
  c32,        ///< std::complex<float>
  c64,        ///< std::complex<double>
  i32_index,  ///< Indexed<std::int32_t>, for min_loc and max_loc
  i64_index,  ///< Indexed<std::int64_t>
  f32_index,  ///< Indexed<float>
  f64_index,  ///< Indexed<double>
  opaque,     ///< any other trivially copyable type: only user operators reduce it
};

/// The built-in operators, and user for all others. Arrays of bool have no sum, product or average,
/// since the sum of two true values is a byte that is neither true nor false; all other operators
/// accept them. Exchanging the two operands of a built-in operator never changes a bit of its
/// result: every NaN result is the one quiet NaN without sign and payload.
enum class OperatorKind : std::uint8_t {
  sum,          ///< Integers wrap modulo 2^bits.
  prod,         ///< Integers wrap modulo 2^bits.
  min,          ///< Unsigned comparisons are unsigned. A NaN operand gives NaN; -0 is below +0.
  max,          ///< As min.
  min_loc,      ///< Indexed types: the least value, the lower index among equals.
  max_loc,      ///< Indexed types: the greatest value, the lower index among equals.
  logical_and,  ///< Integers: 1 if both operands are non-zero, else 0.
  logical_or,   ///< Integers: 1 if an operand is non-zero, else 0.
  logical_xor,  ///< Integers: 1 if exactly one operand is non-zero, else 0.
  bit_and,      ///< Integers.
  bit_or,       ///< Integers.
  bit_xor,      ///< Integers.
  /// The sum divided by the number of ranks, once, at the end. For f16 and bf16, sums of some of
  /// the ranks are stored divided by a power of two, so the mean of finite numbers is finite.
  average,
  user,  ///< A user's function.
};

/// A value and an index: the element of min_loc and max_loc, with the layout of MPI's pair types
/// such as MPI_FLOAT_INT.
/// @tparam T the value's type: std::int32_t, std::int64_t, float or double.
template <class T>
struct Indexed {
  T value;             ///< The value compared.
  std::int32_t index;  ///< The lower index wins among equal values, as in MPI.
  /// Equality of both members.
  friend bool operator==(const Indexed&, const Indexed&) = default;
};

}  // namespace tutti::v0
