/// @file
/// Elements of each datatype in kernels: load, combine, finish, store. All functions are constexpr,
/// so that device code and the host compile the same text; the results equal those of host memory
/// bit by bit.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <tutti/float16.hpp>
#include <tutti/types.hpp>

namespace tutti::v0::cuda {

/// @return the only NaN in results.
template <class T>
[[nodiscard]] constexpr T quiet_nan() noexcept {
  if constexpr (sizeof(T) == 4) return std::bit_cast<T>(std::uint32_t{0x7fc00000});
  else return std::bit_cast<T>(std::uint64_t{0x7ff8000000000000});
}

/// Divides, then replaces every NaN, whose payload would depend on the order of operands.
template <class T>
[[nodiscard]] constexpr T finished(T value, std::int32_t divisor) noexcept {
  if (divisor != 1) value = value / static_cast<T>(divisor);
  return value == value ? value : quiet_nan<T>();
}

/// @return the lesser value. Here -0 is below +0, and any NaN gives NaN.
template <class T>
[[nodiscard]] constexpr T lesser(T a, T b) noexcept {
  if (a != a || b != b) return quiet_nan<T>();
  if (a == b) return __builtin_signbit(a) != 0 ? a : b;
  return a < b ? a : b;
}
/// @return the greater value, by the rules of lesser().
template <class T>
[[nodiscard]] constexpr T greater(T a, T b) noexcept {
  if (a != a || b != b) return quiet_nan<T>();
  if (a == b) return __builtin_signbit(a) != 0 ? b : a;
  return a > b ? a : b;
}

/// @return whether an operator gives other bits for signed integers than for unsigned ones. Kernels
/// of the other operators exist for unsigned integers alone.
[[nodiscard]] constexpr bool sees_sign(OperatorKind op) noexcept {
  return op == OperatorKind::min || op == OperatorKind::max || op == OperatorKind::average;
}

/// @return whether kernels of a datatype have an operator.
[[nodiscard]] constexpr bool has_kernel(OperatorKind op, Datatype type) noexcept {
  return op != OperatorKind::user && is_defined(op, type);
}

/// Integers. Sums and products wrap.
template <class T>
struct IntegerElement {
  using Stored = T;
  using Value = T;
  using Unsigned = std::make_unsigned_t<T>;
  // Short integers would be promoted to signed ones, whose products may overflow.
  using Wide = std::conditional_t<(sizeof(T) < 4), std::uint32_t, Unsigned>;

  [[nodiscard]] static constexpr bool has(OperatorKind op) noexcept {
    if (std::is_signed_v<T>) return sees_sign(op);
    return has_kernel(op, datatype_of<T>());
  }
  [[nodiscard]] static constexpr Value load(Stored stored) noexcept { return stored; }
  [[nodiscard]] static constexpr Stored store(Value value, std::int32_t divisor) noexcept {
    // Short integers are divided as int, which holds them.
    if constexpr (sizeof(T) == 8) return divisor == 1 ? value : value / static_cast<T>(divisor);
    else if constexpr (std::is_signed_v<T>) return static_cast<T>(value / divisor);
    else return static_cast<T>(value / static_cast<std::uint32_t>(divisor));
  }
  template <OperatorKind op>
  [[nodiscard]] static constexpr Value apply(Value a, Value b) noexcept {
    const auto x = static_cast<Wide>(static_cast<Unsigned>(a));
    const auto y = static_cast<Wide>(static_cast<Unsigned>(b));
    if constexpr (op == OperatorKind::sum || op == OperatorKind::average) return narrow(x + y);
    else if constexpr (op == OperatorKind::prod) return narrow(x * y);
    else if constexpr (op == OperatorKind::min) return a < b ? a : b;
    else if constexpr (op == OperatorKind::max) return a > b ? a : b;
    else if constexpr (op == OperatorKind::logical_and) return a != 0 && b != 0 ? 1 : 0;
    else if constexpr (op == OperatorKind::logical_or) return a != 0 || b != 0 ? 1 : 0;
    else if constexpr (op == OperatorKind::logical_xor) return (a != 0) != (b != 0) ? 1 : 0;
    else if constexpr (op == OperatorKind::bit_and) return narrow(x & y);
    else if constexpr (op == OperatorKind::bit_or) return narrow(x | y);
    else {
      static_assert(op == OperatorKind::bit_xor, "every operator of integers has a branch");
      return narrow(x ^ y);
    }
  }

 private:
  [[nodiscard]] static constexpr T narrow(Wide wide) noexcept {
    return static_cast<T>(static_cast<Unsigned>(wide));
  }
};

/// The operators of real numbers.
template <OperatorKind op, class T>
[[nodiscard]] constexpr T apply_real(T a, T b) noexcept {
  if constexpr (op == OperatorKind::prod) return a * b;
  else if constexpr (op == OperatorKind::min) return lesser(a, b);
  else if constexpr (op == OperatorKind::max) return greater(a, b);
  else {
    static_assert(op == OperatorKind::sum || op == OperatorKind::average,
                  "every operator of reals has a branch");
    return a + b;
  }
}

/// float and double.
template <class T>
struct RealElement {
  using Stored = T;
  using Value = T;
  [[nodiscard]] static constexpr bool has(OperatorKind op) noexcept {
    return has_kernel(op, datatype_of<T>());
  }
  [[nodiscard]] static constexpr Value load(Stored stored) noexcept { return stored; }
  [[nodiscard]] static constexpr Stored store(Value value, std::int32_t divisor) noexcept {
    return finished(value, divisor);
  }
  template <OperatorKind op>
  [[nodiscard]] static constexpr Value apply(Value a, Value b) noexcept {
    return apply_real<op>(a, b);
  }
};

/// @param exponent of a normal number.
[[nodiscard]] constexpr float power_of_two(std::int32_t exponent) noexcept {
  return std::bit_cast<float>(static_cast<std::uint32_t>(127 + exponent) << 23U);
}

/// f16 and bf16, computed in float and rounded once.
template <class T>
struct HalfElement {
  using Stored = std::uint16_t;
  using Value = float;
  [[nodiscard]] static constexpr bool has(OperatorKind op) noexcept {
    return has_kernel(op, datatype_of<T>());
  }
  [[nodiscard]] static constexpr Value load(Stored stored) noexcept {
    T half;
    half.bits = stored;
    return static_cast<float>(half);
  }
  [[nodiscard]] static constexpr Stored store(Value value, std::int32_t divisor) noexcept {
    return T{finished(value, divisor)}.bits;
  }
  /// Stores an average. @param half half of the sum, which finite operands do not overflow. @param
  /// divisor without the factor two to the power `exponent`. The mean of finite numbers stays
  /// within their range.
  [[nodiscard]] static constexpr Stored store_average(Value half, std::int32_t divisor,
                                                      std::int32_t exponent) noexcept {
    constexpr float kBound = std::is_same_v<T, Float16> ? 65504.0F / 2 : 0x1.fep126F;
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    half = half / (static_cast<float>(divisor) * power_of_two(exponent));
    if (half > kBound && half < kInfinity) half = kBound;
    if (half < -kBound && half > -kInfinity) half = -kBound;
    return store(half + half, 1);
  }
  template <OperatorKind op>
  [[nodiscard]] static constexpr Value apply(Value a, Value b) noexcept {
    return apply_real<op>(a, b);
  }
};

/// Complex numbers, laid out as std::complex.
template <class T>
struct ComplexElement {
  struct Value {
    T real;
    T imaginary;
  };
  using Stored = Value;
  [[nodiscard]] static constexpr bool has(OperatorKind op) noexcept {
    return has_kernel(op, datatype_of<std::complex<T>>());
  }
  [[nodiscard]] static constexpr Value load(const Stored& stored) noexcept { return stored; }
  [[nodiscard]] static constexpr Stored store(const Value& value, std::int32_t divisor) noexcept {
    return {finished(value.real, divisor), finished(value.imaginary, divisor)};
  }
  template <OperatorKind op>
  [[nodiscard]] static constexpr Value apply(const Value& a, const Value& b) noexcept {
    if constexpr (op == OperatorKind::prod)
      return {a.real * b.real - a.imaginary * b.imaginary,
              a.real * b.imaginary + a.imaginary * b.real};
    else {
      static_assert(op == OperatorKind::sum || op == OperatorKind::average,
                    "every operator of complex numbers has a branch");
      return {a.real + b.real, a.imaginary + b.imaginary};
    }
  }
};

/// A value and its index, laid out as Indexed, with zeros in the padding.
template <class T>
struct IndexedElement {
  struct Value {
    T value;
    std::int32_t index;
  };
  struct Padded {
    T value;
    std::int32_t index;
    std::int32_t padding;
  };
  using Stored = std::conditional_t<sizeof(T) == 8, Padded, Value>;
  [[nodiscard]] static constexpr bool has(OperatorKind op) noexcept {
    return has_kernel(op, datatype_of<Indexed<T>>());
  }
  [[nodiscard]] static constexpr Value load(const Stored& stored) noexcept {
    return {stored.value, stored.index};
  }
  [[nodiscard]] static constexpr Stored store(const Value& value, std::int32_t) noexcept {
    T kept = value.value;
    if constexpr (std::is_floating_point_v<T>) kept = kept == kept ? kept : quiet_nan<T>();
    if constexpr (sizeof(T) == 8) return {kept, value.index, 0};
    else return {kept, value.index};
  }
  template <OperatorKind op>
  [[nodiscard]] static constexpr Value apply(const Value& a, const Value& b) noexcept {
    const bool a_is_nan = a.value != a.value;
    const bool b_is_nan = b.value != b.value;
    if (a_is_nan != b_is_nan) return a_is_nan ? a : b;
    if (a_is_nan || a.value == b.value) {
      if (a.index != b.index) return a.index < b.index ? a : b;
      // Equal values can differ only as zeros, by sign; the choice must not depend on the order.
      return __builtin_signbit(static_cast<double>(b.value)) != 0 ? b : a;
    }
    const bool is_before = op == OperatorKind::min_loc ? a.value < b.value : a.value > b.value;
    return is_before ? a : b;
  }
};

/// The element of a datatype. @tparam T its type in kElementTypes.
template <class T>
[[nodiscard]] constexpr auto element_of() noexcept {
  if constexpr (std::is_integral_v<T>) return IntegerElement<T>{};
  else if constexpr (std::is_floating_point_v<T>) return RealElement<T>{};
  else if constexpr (requires { typename T::value_type; })
    return ComplexElement<typename T::value_type>{};
  else if constexpr (requires { T::index; }) return IndexedElement<decltype(T::value)>{};
  else return HalfElement<T>{};
}

}  // namespace tutti::v0::cuda
