/// @file
/// Arguments that no call accepts, and compiler errors that name the right ones.
#pragma once

#include <concepts>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <tutti/elements.hpp>

/// @cond error messages of the compiler
namespace tutti::v0::detail {

template <class A>
concept RawPointer = std::is_pointer_v<std::remove_cvref_t<A>> &&
    !std::is_function_v<std::remove_pointer_t<std::remove_cvref_t<A>>>;

template <class A>
inline constexpr bool is_bits = false;
template <class Allocator>
inline constexpr bool is_bits<std::vector<bool, Allocator>> = true;
template <class A>
concept Bits = is_bits<std::remove_cvref_t<A>>;

template <class A>
inline constexpr bool is_tuple = false;
template <class First, class Second>
inline constexpr bool is_tuple<std::pair<First, Second>> = true;
template <class... Members>
inline constexpr bool is_tuple<std::tuple<Members...>> = true;
template <class A>
concept Tuple = is_tuple<std::remove_cvref_t<A>>;

/// An array, except one of counts, which may be a temporary.
template <class A>
concept Array = Elements<A> && !std::same_as<ElementOf<A>, std::size_t>;
/// An array that ends with the expression. @tparam A a type as deduced for A&&.
template <class A>
concept Temporary = Array<A> && !LastingElements<A>;

/// Arguments of which a call rejects one.
template <class... A>
concept Misuse = ((RawPointer<A> || Bits<A> || Tuple<A> || Temporary<A>) || ...);
/// The same for calls that may return their result, which accept a temporary input.
template <class... A>
concept MisuseOfTwo = ((RawPointer<A> || Bits<A> || Tuple<A>) || ...) ||
                      ((Temporary<A> || ...) && (int{Array<A>} + ...) > 1);

/// Explains the error. @tparam A the arguments, of which one is Misuse.
template <class... A>
consteval void explain_misuse() noexcept {
  static_assert(!(RawPointer<A> || ...),
                "tutti takes arrays, not pointers: pass std::span{pointer, count}");
  static_assert(!(Bits<A> || ...),
                "std::vector<bool> holds bits, and a call needs an array: pass a "
                "std::vector<std::uint8_t>, or a std::span<bool>");
  static_assert(
      !(Tuple<A> || ...),
      "std::pair and std::tuple are not trivially copyable, so they cannot be elements: pass "
      "a struct, tutti::Indexed for min_loc and max_loc, or use tutti::objects");
  static_assert(
      !(Temporary<A> || ...),
      "this array ends with the expression, but the call may need it longer, for example in a "
      "batch: give the array a name");
}

/// Checks a call that returns a std::vector of T.
template <class T>
consteval void check_list_of() noexcept {
  static_assert(
      !std::is_same_v<T, bool>,
      "this call would return a std::vector<bool>, which holds bits: pass an array for the "
      "result, or elements of std::uint8_t");
}

}  // namespace tutti::v0::detail
/// @endcond
