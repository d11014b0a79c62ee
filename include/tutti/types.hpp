/// @file
/// The words every other header uses: ranks, collectives, datatypes, operators.
#pragma once

#include <chrono>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include <tutti/export.hpp>
#include <tutti/float16.hpp>

namespace tutti::inline v0 {

/// Index of a process in a communicator, 0 .. size - 1.
using Rank = int;
/// In place of a sender: whichever rank a message comes from.
inline constexpr Rank any_rank = -1;
/// A time that something takes, or one since an arbitrary start.
using Duration = std::chrono::nanoseconds;

/// The operations a communicator offers. Names follow the MPI standard, spelled out.
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

/// Number of enumerators of Collective.
inline constexpr int kCollectives = 11;

/// What a call is that is no collective but messages between two ranks.
enum class PointToPoint : std::uint8_t {
  none,      ///< Nothing of the kind: it is a collective.
  send,      ///< The peer gets the elements.
  recv,      ///< The peer's elements come.
  sendrecv,  ///< Both at once, to one rank and from the same or another one.
};

/// Number of enumerators of PointToPoint.
inline constexpr int kPointToPoints = 4;

/// Tags of messages between two ranks are 0 .. kUserTags - 1.
inline constexpr int kUserTags = 8192;

/// The element types tutti reduces. Storage sizes are fixed and equal on all platforms.
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
  opaque,     ///< any other trivially copyable type: moved, or reduced by a user's operator only
};

/// Number of enumerators of Datatype.
inline constexpr int kDatatypes = 19;

/// The built-in operators, and user for all others. Arrays of bool are not summed, multiplied or
/// averaged: the sum of two true values is a byte that is neither. The others are for them, too.
/// Exchanging the two operands of a built-in operator never changes a bit of its result: every NaN
/// result is the one quiet NaN without sign and payload.
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
  /// The sum divided by the number of ranks, once, at the end. Of f16 and bf16, sums of some of the
  /// ranks are stored divided by a power of two: the mean of finite numbers is finite.
  average,
  user,         ///< A function of the caller's.
};

/// Number of enumerators of OperatorKind.
inline constexpr int kOperatorKinds = 14;

/// A value and where it was found: the element of min_loc and max_loc. Laid out as MPI's pair
/// types (MPI_FLOAT_INT and its like).
/// @tparam T the value's type: std::int32_t, std::int64_t, float or double.
template <class T>
struct Indexed {
  T value;             ///< The value compared.
  std::int32_t index;  ///< The lower index wins among equal values, as in MPI.
  /// Equality of both members.
  friend bool operator==(const Indexed&, const Indexed&) = default;
};

/// Bytes of one element. @param type any datatype but opaque. @return the size, 0 for opaque.
[[nodiscard]] TUTTI_API std::size_t size_of(Datatype type) noexcept;

/// @param collective any enumerator. @return its name, such as "all_reduce".
[[nodiscard]] TUTTI_API std::string_view name_of(Collective collective) noexcept;
/// @param call any enumerator. @return its name, such as "sendrecv".
[[nodiscard]] TUTTI_API std::string_view name_of(PointToPoint call) noexcept;
/// @param type any enumerator. @return its name, such as "f32".
[[nodiscard]] TUTTI_API std::string_view name_of(Datatype type) noexcept;

/// Whether the collective has a root. @param collective any enumerator. @return true if so.
[[nodiscard]] constexpr bool is_rooted(Collective collective) noexcept {
  return collective == Collective::reduce || collective == Collective::broadcast ||
         collective == Collective::scatter || collective == Collective::gather;
}

/// Whether every rank gets the reduction of the ranks before it.
/// @param collective any enumerator. @return true for scan and exscan.
[[nodiscard]] constexpr bool is_prefix(Collective collective) noexcept {
  return collective == Collective::scan || collective == Collective::exscan;
}

/// Whether the collective applies an operator. @param collective any enumerator.
/// @return true for all_reduce, reduce, reduce_scatter, scan and exscan.
[[nodiscard]] constexpr bool is_reduction(Collective collective) noexcept {
  return collective == Collective::all_reduce || collective == Collective::reduce ||
         collective == Collective::reduce_scatter || is_prefix(collective);
}

/// The Datatype of a C++ type; opaque for trivially copyable types tutti cannot reduce itself.
/// @tparam T a trivially copyable type, without const.
/// @return the enumerator.
template <class T>
[[nodiscard]] constexpr Datatype datatype_of() noexcept {
  static_assert(
      std::is_trivially_copyable_v<T>,
      "tutti moves only trivially copyable elements: use a struct in place of a std::pair "
      "or std::tuple, tutti::Indexed for min_loc and max_loc, and tutti::objects for "
      "strings and containers");
  if constexpr (std::is_same_v<T, float>) return Datatype::f32;
  else if constexpr (std::is_same_v<T, double>) return Datatype::f64;
  else if constexpr (std::is_same_v<T, Float16>) return Datatype::f16;
  else if constexpr (std::is_same_v<T, BFloat16>) return Datatype::bf16;
  else if constexpr (std::is_same_v<T, std::complex<float>>) return Datatype::c32;
  else if constexpr (std::is_same_v<T, std::complex<double>>) return Datatype::c64;
  else if constexpr (std::is_same_v<T, Indexed<std::int32_t>>) return Datatype::i32_index;
  else if constexpr (std::is_same_v<T, Indexed<std::int64_t>>) return Datatype::i64_index;
  else if constexpr (std::is_same_v<T, Indexed<float>>) return Datatype::f32_index;
  else if constexpr (std::is_same_v<T, Indexed<double>>) return Datatype::f64_index;
  else if constexpr (std::is_same_v<T, std::byte>) return Datatype::u8;
  else if constexpr (sizeof(T) > 8) return Datatype::opaque;
  else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>)
    return sizeof(T) == 1   ? Datatype::i8
           : sizeof(T) == 2 ? Datatype::i16
           : sizeof(T) == 4 ? Datatype::i32
                            : Datatype::i64;
  else if constexpr (std::is_integral_v<T>)
    return sizeof(T) == 1   ? Datatype::u8
           : sizeof(T) == 2 ? Datatype::u16
           : sizeof(T) == 4 ? Datatype::u32
                            : Datatype::u64;
  else return Datatype::opaque;
}

}  // namespace tutti::inline v0
