/// @file
/// Facts of collectives, datatypes and operators, in one table each: kCollectiveTraits,
/// kElementTypes, kOperatorTraits. Names, checks, kernels and help are derived from them.
#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include <tutti/enumerators.hpp>
#include <tutti/float16.hpp>

namespace tutti::v0 {

/// The content of a buffer of a collective.
enum class Extent : std::uint8_t {
  nothing,     ///< The collective has no such buffer.
  vector,      ///< One vector of equal length on all ranks.
  own_block,   ///< The block of the own rank.
  all_blocks,  ///< A block for each rank.
};

/// The ranks that have a buffer.
enum class Holders : std::uint8_t { all, root, all_but_first };

/// The facts of a collective.
struct CollectiveTraits {
  std::string_view name;  ///< As name_of gives it.
  Extent input;           ///< Content of an input.
  Holders readers;        ///< Ranks with an input.
  Extent output;          ///< Content of an output.
  Holders writers;        ///< Ranks with an output.
  bool is_reduction;      ///< Applies an operator.
  bool is_prefix;         ///< A rank gets the reduction of earlier ranks.
};

/// In the order of Collective.
inline constexpr auto kCollectiveTraits = [] {
  using enum Extent;
  using enum Holders;
  return std::array{
      CollectiveTraits{"all_reduce", vector, all, vector, all, true, false},
      CollectiveTraits{"reduce", vector, all, vector, root, true, false},
      CollectiveTraits{"broadcast", vector, root, vector, all, false, false},
      CollectiveTraits{"scatter", all_blocks, root, own_block, all, false, false},
      CollectiveTraits{"gather", own_block, all, all_blocks, root, false, false},
      CollectiveTraits{"all_gather", own_block, all, all_blocks, all, false, false},
      CollectiveTraits{"reduce_scatter", all_blocks, all, own_block, all, true, false},
      CollectiveTraits{"all_to_all", all_blocks, all, all_blocks, all, false, false},
      CollectiveTraits{"scan", vector, all, vector, all, true, true},
      CollectiveTraits{"exscan", vector, all, vector, all_but_first, true, true},
      CollectiveTraits{"barrier", nothing, all, nothing, all, false, false},
  };
}();

/// Number of enumerators of Collective.
inline constexpr int kCollectives = static_cast<int>(kCollectiveTraits.size());

/// In the order of PointToPoint.
inline constexpr std::array<std::string_view, 4> kPointToPointNames{"none", "send", "recv",
                                                                    "sendrecv"};
/// Number of enumerators of PointToPoint.
inline constexpr int kPointToPoints = static_cast<int>(kPointToPointNames.size());

/// Kinds of elements: one bit each, so that a number is a set of them.
enum class ElementKind : std::uint8_t {
  signed_integer = 1,
  unsigned_integer = 2,
  real = 4,
  complex = 8,
  indexed = 16,  ///< Indexed<T>.
  opaque = 32,   ///< Any other type.
};

/// The facts of a datatype.
struct DatatypeTraits {
  std::string_view name;  ///< As name_of gives it.
  ElementKind kind;       ///< Determines the operators.
  std::size_t bytes;      ///< Size of an element; 0 for opaque, whose calls have the size.
  /// Alignment of an element, and size of one number in it.
  std::size_t alignment;
  std::uint64_t infinity;  ///< The bits of infinity in one number; 0 if there is none.
};

/// A datatype's C++ type, and its facts.
template <class T>
struct ElementType {
  using type = T;              ///< Type of an element.
  std::string_view name;       ///< See DatatypeTraits.
  ElementKind kind;            ///< See DatatypeTraits.
  std::uint64_t infinity = 0;  ///< See DatatypeTraits.
};

/// In the order of Datatype, without opaque, which has no type of its own.
inline constexpr std::tuple kElementTypes{
    ElementType<std::int8_t>{"i8", ElementKind::signed_integer},
    ElementType<std::int16_t>{"i16", ElementKind::signed_integer},
    ElementType<std::int32_t>{"i32", ElementKind::signed_integer},
    ElementType<std::int64_t>{"i64", ElementKind::signed_integer},
    ElementType<std::uint8_t>{"u8", ElementKind::unsigned_integer},
    ElementType<std::uint16_t>{"u16", ElementKind::unsigned_integer},
    ElementType<std::uint32_t>{"u32", ElementKind::unsigned_integer},
    ElementType<std::uint64_t>{"u64", ElementKind::unsigned_integer},
    ElementType<Float16>{"f16", ElementKind::real, 0x7c00},
    ElementType<BFloat16>{"bf16", ElementKind::real, 0x7f80},
    ElementType<float>{"f32", ElementKind::real, 0x7f80'0000},
    ElementType<double>{"f64", ElementKind::real, 0x7ff0'0000'0000'0000},
    ElementType<std::complex<float>>{"c32", ElementKind::complex, 0x7f80'0000},
    ElementType<std::complex<double>>{"c64", ElementKind::complex, 0x7ff0'0000'0000'0000},
    ElementType<Indexed<std::int32_t>>{"i32_index", ElementKind::indexed},
    ElementType<Indexed<std::int64_t>>{"i64_index", ElementKind::indexed},
    ElementType<Indexed<float>>{"f32_index", ElementKind::indexed, 0x7f80'0000},
    ElementType<Indexed<double>>{"f64_index", ElementKind::indexed, 0x7ff0'0000'0000'0000}};

/// In the order of Datatype.
inline constexpr auto kDatatypeTraits = std::apply(
    []<class... T>(const ElementType<T>&... types) {
      return std::array{
          DatatypeTraits{types.name, types.kind, sizeof(T), alignof(T), types.infinity}...,
          DatatypeTraits{"opaque", ElementKind::opaque, 0, 1, 0}};
    },
    kElementTypes);

/// Number of enumerators of Datatype.
inline constexpr int kDatatypes = static_cast<int>(kDatatypeTraits.size());

/// The facts of an operator.
struct OperatorTraits {
  std::string_view name;  ///< As name_of gives it.
  unsigned elements;      ///< Element kinds of the operator: bits of ElementKind.
  unsigned ordered;       ///< Element kinds for which bits depend on the order of operands.
  bool of_bool;           ///< The result of two values of bool is a value of bool.
};

namespace detail {
/// @return the set of kinds.
template <class... Kinds>
[[nodiscard]] constexpr unsigned set_of(Kinds... kinds) noexcept {
  return (0U | ... | static_cast<unsigned>(kinds));
}
inline constexpr unsigned kIntegers =
    set_of(ElementKind::signed_integer, ElementKind::unsigned_integer);
inline constexpr unsigned kReals = kIntegers | set_of(ElementKind::real);
inline constexpr unsigned kNumbers = kReals | set_of(ElementKind::complex);
inline constexpr unsigned kRounded = set_of(ElementKind::real, ElementKind::complex);
inline constexpr unsigned kIndexed = set_of(ElementKind::indexed);

/// Name of a value outside the enumeration, which only a cast can make.
inline constexpr std::string_view kNoName = "unknown";
}  // namespace detail

/// In the order of OperatorKind.
inline constexpr std::array kOperatorTraits{
    OperatorTraits{"sum", detail::kNumbers, detail::kRounded, false},
    OperatorTraits{"prod", detail::kNumbers, detail::kRounded, false},
    OperatorTraits{"min", detail::kReals, 0, true},
    OperatorTraits{"max", detail::kReals, 0, true},
    OperatorTraits{"min_loc", detail::kIndexed, 0, false},
    OperatorTraits{"max_loc", detail::kIndexed, 0, false},
    OperatorTraits{"logical_and", detail::kIntegers, 0, true},
    OperatorTraits{"logical_or", detail::kIntegers, 0, true},
    OperatorTraits{"logical_xor", detail::kIntegers, 0, true},
    OperatorTraits{"bit_and", detail::kIntegers, 0, true},
    OperatorTraits{"bit_or", detail::kIntegers, 0, true},
    OperatorTraits{"bit_xor", detail::kIntegers, 0, true},
    OperatorTraits{"average", detail::kNumbers, detail::kRounded, false},
    OperatorTraits{"user", ~0U, ~0U, true}};

/// Number of enumerators of OperatorKind.
inline constexpr int kOperatorKinds = static_cast<int>(kOperatorTraits.size());

/// @cond details
namespace detail {
// The facts of a value outside its enumeration, which can only come from a cast.
inline constexpr CollectiveTraits kNoCollective{
    kNoName, Extent::nothing, Holders::all, Extent::nothing, Holders::all, false, false};
inline constexpr DatatypeTraits kNoDatatype{kNoName, ElementKind::opaque, 0, 1, 0};
inline constexpr OperatorTraits kNoOperator{kNoName, 0, 0, false};

template <class Table, class Row, class Enum>
[[nodiscard]] constexpr const Row& row_of(const Table& table, const Row& none,
                                          Enum value) noexcept {
  const auto index = static_cast<std::size_t>(value);
  return index < table.size() ? table[index] : none;
}
}  // namespace detail
/// @endcond

/// @return the facts of an enumerator.
[[nodiscard]] constexpr const CollectiveTraits& traits_of(Collective collective) noexcept {
  return detail::row_of(kCollectiveTraits, detail::kNoCollective, collective);
}
/// @return the facts of an enumerator.
[[nodiscard]] constexpr const DatatypeTraits& traits_of(Datatype type) noexcept {
  return detail::row_of(kDatatypeTraits, detail::kNoDatatype, type);
}
/// @return the facts of an enumerator.
[[nodiscard]] constexpr const OperatorTraits& traits_of(OperatorKind kind) noexcept {
  return detail::row_of(kOperatorTraits, detail::kNoOperator, kind);
}

/// Calls a function with the ElementType of a datatype, except opaque.
/// @param function takes a const ElementType<T>& of any T.
template <class Function>
constexpr void with_element_type(Datatype type, Function&& function) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    static_cast<void>(((static_cast<std::size_t>(type) == I &&
                        (static_cast<void>(function(std::get<I>(kElementTypes))), true)) ||
                       ...));
  }
  (std::make_index_sequence<std::tuple_size_v<decltype(kElementTypes)>>{});
}

/// @return the bytes of one element; 0 for opaque.
[[nodiscard]] constexpr std::size_t size_of(Datatype type) noexcept {
  return traits_of(type).bytes;
}
/// @param kinds such as ElementKind::real. @return whether the elements are of one of the kinds.
template <class... Kinds>
[[nodiscard]] constexpr bool is_any_of(Datatype type, Kinds... kinds) noexcept {
  return (static_cast<unsigned>(traits_of(type).kind) & detail::set_of(kinds...)) != 0;
}
/// @return whether the elements are integers.
[[nodiscard]] constexpr bool is_integer(Datatype type) noexcept {
  return is_any_of(type, ElementKind::signed_integer, ElementKind::unsigned_integer);
}
/// @return whether the elements are real numbers of 16 bits, which are summed in float.
[[nodiscard]] constexpr bool is_half(Datatype type) noexcept {
  return is_any_of(type, ElementKind::real) && traits_of(type).bytes == 2;
}

/// @return whether an operator is defined for a datatype: logical and bitwise ones for integers,
/// min and max for real types, min_loc and max_loc for indexed types, user for all.
[[nodiscard]] constexpr bool is_defined(OperatorKind kind, Datatype type) noexcept {
  return (traits_of(kind).elements & static_cast<unsigned>(traits_of(type).kind)) != 0;
}

/// @return whether the bits of a result depend on the order of the operands, since each step rounds
/// or is a user's. Sums of integers wrap, and min and max choose one operand.
[[nodiscard]] constexpr bool depends_on_order(OperatorKind kind, Datatype type) noexcept {
  return (traits_of(kind).ordered & static_cast<unsigned>(traits_of(type).kind)) != 0;
}

/// @return the name, such as "all_reduce".
[[nodiscard]] constexpr std::string_view name_of(Collective collective) noexcept {
  return traits_of(collective).name;
}
/// @return the name, such as "sendrecv".
[[nodiscard]] constexpr std::string_view name_of(PointToPoint call) noexcept {
  return static_cast<int>(call) < kPointToPoints
             ? kPointToPointNames[static_cast<std::size_t>(call)]
             : detail::kNoName;
}
/// @return the name, such as "f32".
[[nodiscard]] constexpr std::string_view name_of(Datatype type) noexcept {
  return traits_of(type).name;
}
/// @return the name, such as "sum".
[[nodiscard]] constexpr std::string_view name_of(OperatorKind kind) noexcept {
  return traits_of(kind).name;
}

/// @return whether the rank has the buffer.
[[nodiscard]] constexpr bool is_among(Holders holders, Rank rank, Rank root) noexcept {
  if (holders == Holders::root) return rank == root;
  return holders == Holders::all || rank > 0;
}
/// @return whether a rank has its own block as input and gets all: in place, its input is a block
/// of its output.
[[nodiscard]] constexpr bool is_gathering(Collective collective) noexcept {
  return traits_of(collective).input == Extent::own_block;
}
/// @return whether all blocks are input and a rank gets its own: in place, its output is a block of
/// its input.
[[nodiscard]] constexpr bool is_scattering(Collective collective) noexcept {
  return traits_of(collective).output == Extent::own_block;
}
/// @return whether each rank has a block for each other one.
[[nodiscard]] constexpr bool is_between_pairs(Collective collective) noexcept {
  const CollectiveTraits& traits = traits_of(collective);
  return traits.input == Extent::all_blocks && traits.output == Extent::all_blocks;
}

/// @return whether a vector consists of a block for each rank.
[[nodiscard]] constexpr bool is_blockwise(Collective collective) noexcept {
  return traits_of(collective).input == Extent::all_blocks ||
         traits_of(collective).output == Extent::all_blocks;
}

/// @return whether the collective has a root.
[[nodiscard]] constexpr bool is_rooted(Collective collective) noexcept {
  return traits_of(collective).readers == Holders::root ||
         traits_of(collective).writers == Holders::root;
}

/// @return whether every rank gets the reduction of the ranks before it: scan and exscan.
[[nodiscard]] constexpr bool is_prefix(Collective collective) noexcept {
  return traits_of(collective).is_prefix;
}

/// @return whether the collective applies an operator.
[[nodiscard]] constexpr bool is_reduction(Collective collective) noexcept {
  return traits_of(collective).is_reduction;
}

/// @return the Datatype of a C++ type without const; opaque for trivially copyable types without
/// one.
template <class T>
[[nodiscard]] constexpr Datatype datatype_of() noexcept {
  static_assert(
      std::is_trivially_copyable_v<T>,
      "tutti sends only trivially copyable elements: use a struct in place of a std::pair "
      "or std::tuple, tutti::Indexed for min_loc and max_loc, and tutti::objects for "
      "strings and containers");
  constexpr int exact = []<std::size_t... I>(std::index_sequence<I...>) {
    int found = -1;
    ((std::is_same_v<T, typename std::tuple_element_t<I, decltype(kElementTypes)>::type>
          ? void(found = static_cast<int>(I))
          : void()),
     ...);
    return found;
  }
  (std::make_index_sequence<std::tuple_size_v<decltype(kElementTypes)>>{});
  if constexpr (exact >= 0) return static_cast<Datatype>(exact);
  else if constexpr (std::is_same_v<T, std::byte>) return Datatype::u8;
  else if constexpr (std::is_integral_v<T> && sizeof(T) <= 8) {
    // Other names of the same numbers: bool, char, long long, wchar_t.
    constexpr int size = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
    return static_cast<Datatype>(
        static_cast<int>(std::is_signed_v<T> ? Datatype::i8 : Datatype::u8) + size);
  } else return Datatype::opaque;
}

}  // namespace tutti::v0
