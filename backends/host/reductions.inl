/// @file
/// The operators, the one loop that folds, and the table of all kernels. Included once by each
/// kernels_*.cpp; see vectors.inl for why all of it is in an unnamed namespace.
#pragma once

#include <type_traits>

#include "copies.inl"
#include "kernels.hpp"
#include "vectors.inl"

namespace {

using tutti::Datatype;
using tutti::OperatorKind;
using tutti::host::Kernel;
using tutti::host::KernelTable;
using tutti::host::Work;

struct Sum {
  template <class V>
  static V apply(V a, V b) {
    return a + b;
  }
};
struct Product {
  template <class V>
  static V apply(V a, V b) {
    return a * b;
  }
};
struct Minimum {
  template <class V>
  static V apply(V a, V b) {
    return a < b ? a : b;
  }
};
struct Maximum {
  template <class V>
  static V apply(V a, V b) {
    return a > b ? a : b;
  }
};

/// Both selections agree unless the operands are zeros of different sign, for which the union of
/// bits is -0, or unordered, for which it is a NaN.
struct RealMinimum {
  template <class V>
  static V apply(V a, V b) {
    using Mask = decltype(a < b);
    const auto one = __builtin_bit_cast(Mask, a < b ? a : b);
    const auto other = __builtin_bit_cast(Mask, b < a ? b : a);
    return __builtin_bit_cast(V, one | other);
  }
};
/// As RealMinimum, with an intersection of bits. That could lose a NaN, so NaNs are restored by
/// setting all bits.
struct RealMaximum {
  template <class V>
  static V apply(V a, V b) {
    using Mask = decltype(a < b);
    const auto one = __builtin_bit_cast(Mask, a > b ? a : b);
    const auto other = __builtin_bit_cast(Mask, b > a ? b : a);
    return __builtin_bit_cast(V, (one & other) | is_nan(a) | is_nan(b));
  }
};

struct LogicalAnd {
  template <class V>
  static V apply(V a, V b) {
    return __builtin_bit_cast(V, (a != 0) & (b != 0)) & 1;
  }
};
struct LogicalOr {
  template <class V>
  static V apply(V a, V b) {
    return __builtin_bit_cast(V, (a | b) != 0) & 1;
  }
};
struct LogicalXor {
  template <class V>
  static V apply(V a, V b) {
    return __builtin_bit_cast(V, (a != 0) ^ (b != 0)) & 1;
  }
};
struct BitAnd {
  template <class V>
  static V apply(V a, V b) {
    return a & b;
  }
};
struct BitOr {
  template <class V>
  static V apply(V a, V b) {
    return a | b;
  }
};
struct BitXor {
  template <class V>
  static V apply(V a, V b) {
    return a ^ b;
  }
};

/// A complex number by its parts. A sum does not use it, since it is a real sum of twice the
/// length.
template <class T>
struct Complex {
  struct Value {
    T real;
    T imaginary;
  };
  template <std::size_t>
  struct Lanes : ElementWise {
    using V = Value;
    static V load(const void* array, std::size_t i) { return load_from<V>(array, i * sizeof(V)); }
    static void store(void* array, std::size_t i, const V& value, int divisor) {
      using One = Vector<T, 1>;
      const One real = finish<T>(One{value.real}, divisor);
      const One imaginary = finish<T>(One{value.imaginary}, divisor);
      store_to(array, i * sizeof(V), V{real[0], imaginary[0]});
    }
  };
};
struct ComplexProduct {
  template <class V>
  static V apply(V a, V b) {
    return {a.real * b.real - a.imaginary * b.imaginary,
            a.real * b.imaginary + a.imaginary * b.real};
  }
};

/// A value and its index. The padding behind the index is stored as zeros, so that equal results
/// are equal bytes.
template <class T>
struct Pair {
  struct Value {
    T value;
    std::int32_t index;
  };
  static constexpr std::size_t kBytes = sizeof(Value);
  template <std::size_t>
  struct Lanes : ElementWise {
    using V = Value;
    static V load(const void* array, std::size_t i) { return load_from<V>(array, i * kBytes); }
    static void store(void* array, std::size_t i, const V& value, int) {
      constexpr std::size_t kPadding = kBytes - sizeof(T) - sizeof(std::int32_t);
      T kept = value.value;
      if constexpr (std::is_floating_point_v<T>) kept = is_nan(kept) ? kQuietNan<T> : kept;
      store_to(array, i * kBytes, kept);
      store_to(array, i * kBytes + sizeof(T), value.index);
      if constexpr (kPadding > 0) store_to(array, (i + 1) * kBytes - kPadding, std::int32_t{0});
    }
  };
};

/// The extreme value with its index: any NaN before any number, then the lower index.
template <class Extreme>
struct Locate {
  template <class V>
  static V apply(V a, V b) {
    const bool a_is_nan = is_nan(a.value);
    const bool b_is_nan = is_nan(b.value);
    if (a_is_nan != b_is_nan) return a_is_nan ? a : b;
    if (a_is_nan || a.value == b.value) {
      if (a.index != b.index) return a.index < b.index ? a : b;
      // Equal values can differ only as zeros, by sign; the choice must not depend on the order.
      return __builtin_signbit(static_cast<double>(b.value)) ? b : a;
    }
    return Extreme::before(a.value, b.value) ? a : b;
  }
};
struct Lesser {
  template <class T>
  static bool before(T a, T b) {
    return a < b;
  }
};
struct Greater {
  template <class T>
  static bool before(T a, T b) {
    return a > b;
  }
};

/// Folds groups of kUnroll vectors while they fit, and advances work.first past them. A group is
/// read from every operand before it is written, so any operand may be the destination, and each
/// cache line is touched once however many operands there are.
template <class Lanes, class Op, std::size_t kLanes, std::size_t kUnroll>
void fold_groups(Work& work) {
  constexpr std::size_t kGroup = kLanes * kUnroll;
  // A copy that no store can reach, so that its members stay in registers.
  const Work w = work;
  std::size_t i = w.first;
  for (; w.end - i >= kGroup; i += kGroup) {
    typename Lanes::V result[kUnroll];
    for (std::size_t u = 0; u < kUnroll; ++u)
      result[u] = Lanes::load(w.operands[0], i + u * kLanes);
    for (std::size_t j = 1; j < w.operand_count; ++j)
      for (std::size_t u = 0; u < kUnroll; ++u)
        result[u] =
            Lanes::template apply<Op>(result[u], Lanes::load(w.operands[j], i + u * kLanes));
    for (std::size_t u = 0; u < kUnroll; ++u)
      Lanes::store(w.destination, i + u * kLanes, result[u], w.divisor);
  }
  work.first = i;
}

/// Wide vectors first, then short ones, then single elements: a fold of few elements stays cheap.
template <class Format, class Op>
void fold_vectors(const Work& work) {
  constexpr std::size_t kWide = Format::kWide;
  constexpr std::size_t kShort = Format::kShort;
  Work rest = work;
  fold_groups<typename Format::template Lanes<kWide>, Op, kWide, 4>(rest);
  fold_groups<typename Format::template Lanes<kShort>, Op, kShort, 1>(rest);
  fold_groups<typename Format::template Lanes<1>, Op, 1, 1>(rest);
}

/// As fold_groups, for a sum whose operands and divisor are multiplied by powers of two.
template <class Lanes, std::size_t kLanes, std::size_t kUnroll>
void average_groups(Work& work) {
  constexpr std::size_t kGroup = kLanes * kUnroll;
  const Work w = work;
  const float divisor = static_cast<float>(w.divisor) * power_of_two(w.divisor_exponent);
  const auto operand = [&w](std::size_t j, std::size_t i) {
    return Lanes::multiplied(Lanes::load(w.operands[j], i), power_of_two(w.exponents[j] - 1));
  };
  std::size_t i = w.first;
  for (; w.end - i >= kGroup; i += kGroup) {
    typename Lanes::V result[kUnroll];
    for (std::size_t u = 0; u < kUnroll; ++u) result[u] = operand(0, i + u * kLanes);
    for (std::size_t j = 1; j < w.operand_count; ++j)
      for (std::size_t u = 0; u < kUnroll; ++u)
        result[u] = Lanes::template apply<Sum>(result[u], operand(j, i + u * kLanes));
    for (std::size_t u = 0; u < kUnroll; ++u)
      Lanes::store(w.destination, i + u * kLanes, Lanes::averaged(result[u], divisor), 1);
  }
  work.first = i;
}

template <class Format>
void fold_average(const Work& work) {
  if (work.exponents == nullptr) return fold_vectors<Format, Sum>(work);
  constexpr std::size_t kWide = Format::kWide;
  constexpr std::size_t kShort = Format::kShort;
  Work rest = work;
  average_groups<typename Format::template Lanes<kWide>, kWide, 4>(rest);
  average_groups<typename Format::template Lanes<kShort>, kShort, 1>(rest);
  average_groups<typename Format::template Lanes<1>, 1, 1>(rest);
}

template <class Format, class Op>
void fold_singly(const Work& work) {
  Work rest = work;
  fold_groups<typename Format::template Lanes<1>, Op, 1, 1>(rest);
}

/// The sum of complex numbers is the sum of their parts.
template <class T>
void fold_complex_sum(const Work& work) {
  Work parts = work;
  parts.first *= 2;
  parts.end *= 2;
  fold_vectors<Real<T>, Sum>(parts);
}

/// The kernels of one datatype while the table is filled.
class Row {
 public:
  constexpr Row(KernelTable& table, Datatype type)
      : kernels_{table.kernels[static_cast<std::size_t>(type)]} {}
  constexpr Row& set(OperatorKind kind, Kernel kernel) {
    kernels_[static_cast<std::size_t>(kind)] = kernel;
    return *this;
  }

 private:
  Kernel (&kernels_)[tutti::kOperatorKinds];
};

/// All operators of one integer type. Only comparisons look at the sign.
template <class Unsigned, class Compared>
constexpr void set_integer(Row row) {
  using Format = Integer<Unsigned>;
  row.set(OperatorKind::sum, fold_vectors<Format, Sum>)
      .set(OperatorKind::average, fold_vectors<Format, Sum>)
      .set(OperatorKind::prod, fold_vectors<Format, Product>)
      .set(OperatorKind::min, fold_vectors<Integer<Compared>, Minimum>)
      .set(OperatorKind::max, fold_vectors<Integer<Compared>, Maximum>)
      .set(OperatorKind::logical_and, fold_vectors<Format, LogicalAnd>)
      .set(OperatorKind::logical_or, fold_vectors<Format, LogicalOr>)
      .set(OperatorKind::logical_xor, fold_vectors<Format, LogicalXor>)
      .set(OperatorKind::bit_and, fold_vectors<Format, BitAnd>)
      .set(OperatorKind::bit_or, fold_vectors<Format, BitOr>)
      .set(OperatorKind::bit_xor, fold_vectors<Format, BitXor>);
}

template <class Format>
constexpr void set_real(Row row) {
  row.set(OperatorKind::sum, fold_vectors<Format, Sum>)
      .set(OperatorKind::average, fold_vectors<Format, Sum>)
      .set(OperatorKind::prod, fold_vectors<Format, Product>)
      .set(OperatorKind::min, fold_vectors<Format, RealMinimum>)
      .set(OperatorKind::max, fold_vectors<Format, RealMaximum>);
}

/// As set_real, for types that are computed in float.
template <class Format>
constexpr void set_half(Row row) {
  set_real<Format>(row);
  row.set(OperatorKind::average, fold_average<Format>);
}

template <class T>
constexpr void set_complex(Row row) {
  row.set(OperatorKind::sum, fold_complex_sum<T>)
      .set(OperatorKind::average, fold_complex_sum<T>)
      .set(OperatorKind::prod, fold_singly<Complex<T>, ComplexProduct>);
}

template <class T>
constexpr void set_indexed(Row row) {
  row.set(OperatorKind::min_loc, fold_singly<Pair<T>, Locate<Lesser>>)
      .set(OperatorKind::max_loc, fold_singly<Pair<T>, Locate<Greater>>);
}

/// All operators of the datatype whose elements are T.
template <class T>
constexpr void set_kernels(Row row) {
  if constexpr (std::is_integral_v<T>) set_integer<std::make_unsigned_t<T>, T>(row);
  else if constexpr (std::is_same_v<T, tutti::Float16>) set_half<Binary16>(row);
  else if constexpr (std::is_same_v<T, tutti::BFloat16>) set_half<Brain16>(row);
  else if constexpr (std::is_floating_point_v<T>) set_real<Real<T>>(row);
  else if constexpr (requires { typename T::value_type; }) set_complex<typename T::value_type>(row);
  else set_indexed<decltype(T::value)>(row);
}

/// Evaluated by the compiler, so that loading the library runs none of these instructions.
constexpr KernelTable make_table() {
  KernelTable table{};
  table.copy = copy_many;
  for (int i = 0; i < tutti::kDatatypes; ++i) {
    const auto type = static_cast<Datatype>(i);
    tutti::with_element_type(type, [&]<class T>(const tutti::ElementType<T>&) {
      set_kernels<T>({table, type});
    });
  }
  return table;
}

}  // namespace
