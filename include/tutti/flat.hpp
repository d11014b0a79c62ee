/// @file
/// Flat types: a copy of the bytes is a copy of the object.
#pragma once

#include <array>
#include <chrono>
#include <complex>
#include <concepts>
#include <cstddef>
#include <exception>
#include <type_traits>
#include <utility>

#include <tutti/cereal_functions.hpp>
#include <tutti/export.hpp>
#include <tutti/types.hpp>

namespace tutti::v0 {

/// The values of an enumeration. Specialise it with `static constexpr bool
/// contains(std::underlying_type_t<E> value)` for an enumeration without an underlying type, or one
/// whose decoded values need a check.
template <class E>
struct EnumValues;

/// An enumeration whose decoded values are checked.
template <class E>
concept CheckedEnum = std::is_enum_v<E> && requires(std::underlying_type_t<E> value) {
  { EnumValues<E>::contains(value) } -> std::same_as<bool>;
};

/// Encodes and decodes objects of a type. @see codec.hpp
template <class T>
struct Codec;

namespace detail {
template <class T>
[[nodiscard]] consteval bool looks_flat() noexcept;
template <class T>
[[nodiscard]] consteval bool is_copied() noexcept;
/// A flat type whose objects are always copied as bytes: it has no Codec of its own.
template <class T>
concept Copied = is_copied<T>();
}  // namespace detail

/// Whether any bytes of this size are an object of the type, with the same meaning on every rank:
/// numbers, enumerations with an underlying type, and arrays and aggregates of these. Pointers are
/// not, nor is bool, since only two of its 256 bytes are values. The members of other classes are
/// not known: specialise it as true for a trivially copyable class without pointers. A type with
/// functions for cereal (`serialize`, `save` and `load`, `save_minimal` and `load_minimal`, as
/// members or free) is not flat unless it is specialised as true, nor is an aggregate that contains
/// one, or one with a Codec of its own.
/// @tparam T a type without const.
template <class T>
inline constexpr bool is_flat = detail::looks_flat<T>();
/// @cond specialisations
template <>
inline constexpr bool is_flat<Float16> = true;
template <>
inline constexpr bool is_flat<BFloat16> = true;
template <class T>
inline constexpr bool is_flat<std::complex<T>> = is_flat<T>;
template <class T, std::size_t count>
inline constexpr bool is_flat<std::array<T, count>> = detail::Copied<std::remove_cv_t<T>>;
template <class Number, class Period>
inline constexpr bool is_flat<std::chrono::duration<Number, Period>> = is_flat<Number>;
template <class Clock, class Span>
inline constexpr bool is_flat<std::chrono::time_point<Clock, Span>> = is_flat<Span>;
/// @endcond

/// A type that is_flat.
template <class T>
concept Flat = is_flat<std::remove_cv_t<T>> && std::is_trivially_copyable_v<T>;

/// Flat types are copied as bytes.
template <class T>
requires Flat<T>
struct Codec<T> {
  using CopiedType = T;  ///< Marks this Codec: a program's own has no such name.
  /// Encodes.
  template <class Writer>
  static void encode(Writer& to, const T& object) {
    to.put(object);
  }
  /// Decodes.
  template <class Reader>
  static void decode(Reader& from, T& object) {
    from.read(static_cast<void*>(&object), sizeof(T));
  }
};

namespace detail {

template <class T>
consteval bool is_copied() noexcept {
  if constexpr (!Flat<T>) return false;
  else return requires {
      typename Codec<T>::CopiedType;
    };
}

/// An enumeration of which every value of the underlying type is a value.
template <class E>
concept OpenEnum = std::is_enum_v<E> && !CheckedEnum<E> &&
                   !std::same_as<std::underlying_type_t<E>, bool> && requires {
  E{0};
};

/// Initialises a member of any type.
struct TUTTI_API AnyMember {
  template <class Member>
  operator Member() const noexcept;
};

/// Initialises a member of any type, but is a constant only if that is flat. If it could not
/// initialise a type at all, aggregate initialisation would try the parts of the type instead.
template <class Owner>
struct FlatMember {
  template <class Member>
  static constexpr bool suits = Copied<Member>&& std::default_initializable<Member>;

  template <class Member>
  requires(!std::same_as<Member, Owner> && !suits<Member>) operator Member() const noexcept {
    std::terminate();  // Never called. Without a body, types of unnamed namespaces would be in need
                       // of one.
  }
  template <class Member>
  requires(!std::same_as<Member, Owner> && suits<Member>) constexpr operator Member()
      const noexcept {
    return Member{};
  }
};

template <std::size_t, class Member>
using Repeated = Member;

template <class T, class Member, std::size_t... index>
[[nodiscard]] consteval bool takes(std::index_sequence<index...>) noexcept {
  return requires {
    T{Repeated<index, Member>{}...};
  };
}

template <class T, std::size_t... index>
[[nodiscard]] consteval bool takes_flat(std::index_sequence<index...>) noexcept {
  return requires {
    typename std::bool_constant<(static_cast<void>(T{Repeated<index, FlatMember<T>>{}...}), true)>;
  };
}

/// The number of initialisers of an aggregate, at least `low` and at most `limit`.
template <class T, std::size_t low, std::size_t limit>
[[nodiscard]] consteval std::size_t count_members() noexcept {
  if constexpr (low == limit) {
    return low;
  } else {
    constexpr std::size_t middle = low + (limit - low + 1) / 2;
    if constexpr (takes<T, AnyMember>(std::make_index_sequence<middle>{}))
      return count_members<T, middle, limit>();
    else return count_members<T, low, middle - 1>();
  }
}

/// Most members: longer aggregates would take long to compile.
inline constexpr std::size_t kMostMembers = 128;

template <class T>
[[nodiscard]] consteval bool has_flat_members() noexcept {
  if constexpr (!takes<T, AnyMember>(std::index_sequence<>{})) {
    return false;
  } else {
    constexpr std::size_t members = count_members<T, 0, kMostMembers + 1>();
    if constexpr (members > kMostMembers) return false;
    else return takes_flat<T>(std::make_index_sequence<members>{});
  }
}

template <class T>
consteval bool looks_flat() noexcept {
  if constexpr (std::is_same_v<T, bool>) return false;
  else if constexpr (std::is_arithmetic_v<T>) return true;
  else if constexpr (std::is_enum_v<T>) return OpenEnum<T> && !HasCerealFunctions<T>;
  else if constexpr (std::is_array_v<T>) return Copied<std::remove_cv_t<std::remove_extent_t<T>>>;
  else if constexpr (std::is_aggregate_v<T> && std::is_trivially_copyable_v<T> &&
                     !std::is_union_v<T>) {
    if constexpr (has_flat_members<T>()) return !HasCerealFunctions<T>;
    else return false;
  } else return false;
}

}  // namespace detail
}  // namespace tutti::v0
