/// @file
/// Arrays that collectives take: a span, a vector, an array, a Buffer.
#pragma once

#include <concepts>
#include <cstddef>
#include <ranges>
#include <span>
#include <type_traits>

#include <tutti/buffer.hpp>

namespace tutti::v0 {

/// Consecutive elements in memory.
template <class R>
concept Elements = std::ranges::contiguous_range<R> && std::ranges::sized_range<R>;

/// The type of the elements of an array.
template <Elements R>
using ElementOf = std::ranges::range_value_t<R>;

/// Elements that outlive the expression that names them.
template <class R>
concept LastingElements = Elements<R> && std::ranges::borrowed_range<R>;

/// Elements that outlive the expression, and can be written.
template <class R>
concept MutableElements = LastingElements<R> &&
    !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<R>>>;

namespace detail {
template <class R>
inline constexpr bool is_buffer = false;
template <class T>
inline constexpr bool is_buffer<Buffer<T>> = true;
}  // namespace detail

/// Elements that a collective reads: made from any array of type T, or `{}` on a rank without any.
template <class T>
class Input {
 public:
  Input() = default;
  // NOLINTBEGIN(google-explicit-constructor,bugprone-forwarding-reference-overload): a call is
  // given the arrays themselves, and an Input is none.
  /// @param elements an array, which lives until the operation has ended; no temporary, since a
  /// call may start and end later.
  template <LastingElements R>
  requires std::same_as<ElementOf<R>, T> Input(R&& elements)
  noexcept
      : elements_{std::ranges::data(elements), std::ranges::size(elements)},
        is_buffer_{detail::is_buffer<std::remove_cvref_t<R>>} {}
  /// @param data the first element, or null.
  Input(const T* data, std::size_t count) noexcept : elements_{data, count} {}
  // NOLINTEND(google-explicit-constructor,bugprone-forwarding-reference-overload)

  /// @return the first element, or null.
  [[nodiscard]] const T* data() const noexcept { return elements_.data(); }
  /// @return the number of elements.
  [[nodiscard]] std::size_t size() const noexcept { return elements_.size(); }
  /// @return whether the elements are a Buffer's.
  [[nodiscard]] bool is_buffer() const noexcept { return is_buffer_; }

 private:
  std::span<const T> elements_{};
  bool is_buffer_ = false;
};

}  // namespace tutti::v0
