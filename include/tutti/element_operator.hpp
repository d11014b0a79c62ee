/// @file
/// Operators on elements of one type, such as std::plus and lambdas.
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <optional>
#include <ranges>
#include <type_traits>
#include <utility>

#include <tutti/operators.hpp>
#include <tutti/types.hpp>

namespace tutti::v0 {

/// A function of two elements of type T that returns one.
template <class F, class T>
concept ElementFunction = std::is_invocable_r_v<T, F&, const T&, const T&>;

/// Makes an operator of a function of two elements, for many calls.
/// @param function associative; returns `left op right`.
/// @param commutative whether operands may be exchanged. If not, the result is x0 op x1 op ... op
/// x(n-1).
template <class T, ElementFunction<T> F>
[[nodiscard]] Operator elementwise(F function, bool commutative) {
  return {[function = std::move(function)](const void* left, const void* right, void* out,
                                           std::size_t count) mutable {
            const auto* const a = static_cast<const T*>(left);
            const auto* const b = static_cast<const T*>(right);
            auto* const to = static_cast<T*>(out);
            for (std::size_t i = 0; i < count; ++i) to[i] = static_cast<T>(function(a[i], b[i]));
          },
          commutative};
}

/// @cond details
namespace detail {

template <template <class> class Function, class F, class T>
inline constexpr bool is_standard =
    std::is_same_v<F, Function<void>> || std::is_same_v<F, Function<T>>;

/// @return tutti's operator for a function object of the standard library, or user.
template <class F, class T>
[[nodiscard]] consteval OperatorKind standard_operator() noexcept {
  constexpr Datatype type = datatype_of<T>();
  constexpr bool is_number =
      is_defined(OperatorKind::sum, type) && !std::is_enum_v<T> && !std::is_same_v<T, bool>;
  if constexpr (is_number && is_standard<std::plus, F, T>) return OperatorKind::sum;
  else if constexpr (is_number && is_standard<std::multiplies, F, T>) return OperatorKind::prod;
  else if constexpr (!std::is_integral_v<T>) return OperatorKind::user;
  else if constexpr (is_standard<std::logical_and, F, T>) return OperatorKind::logical_and;
  else if constexpr (is_standard<std::logical_or, F, T>) return OperatorKind::logical_or;
  else if constexpr (is_standard<std::bit_and, F, T>) return OperatorKind::bit_and;
  else if constexpr (is_standard<std::bit_or, F, T>) return OperatorKind::bit_or;
  else if constexpr (is_standard<std::bit_xor, F, T>) return OperatorKind::bit_xor;
  else return OperatorKind::user;
}

template <class F, class T>
inline constexpr bool is_not_associative =
    is_standard<std::minus, F, T> || is_standard<std::divides, F, T> ||
    is_standard<std::modulus, F, T>;

/// A callable type, perhaps not with two elements.
template <class F, class T>
concept Function =
    !std::convertible_to<const F&, const Operator&> && !std::ranges::range<const F&> &&
    (std::invocable<F&, const T&, const T&> || requires { &F::operator(); } ||
     standard_operator<F, T>() != OperatorKind::user);

}  // namespace detail
/// @endcond

/// The operator of a call: an Operator, or a function of two elements. std::plus, std::multiplies,
/// and the logical and bitwise function objects of the standard library mean tutti's own operators.
/// Any other function must be associative. Its operands are never exchanged, which excludes some
/// algorithms; elementwise() makes a commutative operator, and one for many calls.
template <class T>
class ElementOperator {
 public:
  // NOLINTBEGIN(google-explicit-constructor): a call is given the operators themselves.
  /// @param op must live until the call has started.
  ElementOperator(const Operator& op) noexcept : op_{&op} {}
  /// @param kind a built-in operator.
  ElementOperator(OperatorKind kind) : own_{kind} {}
  /// @param function of two elements.
  template <detail::Function<T> F>
  ElementOperator(F function) : own_{of(std::move(function))} {}
  // NOLINTEND(google-explicit-constructor)

  /// @return the operator, while this object lives.
  [[nodiscard]] const Operator& get() const noexcept { return own_ ? *own_ : *op_; }

 private:
  template <class F>
  [[nodiscard]] static Operator of(F function) {
    static_assert(!detail::is_not_associative<F, T>,
                  "a reduction groups its operands in any way, so an operator must be associative: "
                  "differences, quotients and remainders are not");
    constexpr OperatorKind kind = detail::standard_operator<F, T>();
    if constexpr (kind != OperatorKind::user) {
      return kind;
    } else {
      static_assert(
          ElementFunction<F, T>,
          "tutti reduces by its own operators, such as tutti::max, or by a function of two "
          "elements that returns one, such as [](float a, float b) { return a + b; }; a "
          "function of arrays is given as tutti::Operator{function, commutative}");
      if constexpr (ElementFunction<F, T>) return elementwise<T>(std::move(function), false);
      else return OperatorKind::sum;
    }
  }

  const Operator* op_ = nullptr;
  std::optional<Operator> own_{};
};

}  // namespace tutti::v0
