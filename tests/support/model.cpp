#include "model.hpp"

#include <algorithm>
#include <complex>
#include <cstring>
#include <type_traits>

#include "combine.hpp"

namespace tutti::harness {
namespace {

__extension__ using Wide = __int128;

template <class T>
constexpr bool kIsComplex = false;
template <class T>
constexpr bool kIsComplex<std::complex<T>> = true;
template <class T>
constexpr bool kIsIndexed = false;
template <class T>
constexpr bool kIsIndexed<Indexed<T>> = true;
template <class T>
constexpr bool kIsHalf = std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;

/// A number that no other rank and index has, below 2^20 for indices below 2^16 and 16 ranks.
std::uint64_t serial(Rank rank, std::size_t index) {
  return static_cast<std::uint64_t>(index) * 16 + static_cast<std::uint64_t>(rank);
}

/// 1, 2 or one half, with a sign. Odd ranks give signs only, so that 16 of them stay within 2^8.
double factor(Rank rank, std::uint64_t bits) {
  const double sign = (bits & 1) != 0 ? -1.0 : 1.0;
  constexpr double kPowers[] = {0.5, 1.0, 2.0};
  return rank % 2 != 0 ? sign : sign * kPowers[(bits >> 1) % 3];
}

template <class T>
T integer_value(OperatorKind kind, Rank rank, std::size_t index) {
  const std::uint64_t bits = mix(rank, index);
  const std::uint64_t unique = serial(rank, index) * 0x9e3779b97f4a7c15u;
  using enum OperatorKind;
  if (kind == prod) return static_cast<T>(unique * 2 + 1);
  if (kind == logical_and) return static_cast<T>(bits % 16 == 0 ? 0 : bits | 16);
  if (kind == logical_or) return static_cast<T>(bits % 16 == 0 ? bits | 64 : 0);
  if (kind == logical_xor) return static_cast<T>((bits & 1) != 0 ? bits | 64 : 0);
  if (kind == bit_and) return static_cast<T>(bits | bits >> 20 | bits >> 40);
  if (kind == bit_or) return static_cast<T>(bits & bits >> 20 & bits >> 40);
  if (kind == average) return static_cast<T>(static_cast<int>(bits % 8));
  return static_cast<T>(unique);
}

template <class T>
T real_value(OperatorKind kind, Rank rank, std::size_t index) {
  const std::uint64_t bits = mix(rank, index);
  if (kind == OperatorKind::prod) return static_cast<T>(static_cast<float>(factor(rank, bits)));
  if constexpr (std::is_same_v<T, Float16>)
    return Float16{static_cast<float>(static_cast<int>(bits % 201) - 100)};
  else if constexpr (std::is_same_v<T, BFloat16>)
    return BFloat16{static_cast<float>(static_cast<int>(bits % 31) - 15)};
  else
    return static_cast<T>(static_cast<std::int64_t>(serial(rank, index) % (1 << 20)) - (1 << 19));
}

template <class T>
T value(OperatorKind kind, Rank rank, std::size_t index) {
  const std::uint64_t bits = mix(rank, index);
  if constexpr (kIsComplex<T>) {
    using Part = typename T::value_type;
    if (kind != OperatorKind::prod)
      return {real_value<Part>(kind, rank, index), static_cast<Part>(bits % 1024)};
    const auto part = static_cast<Part>(factor(rank, bits));
    return (bits & 256) != 0 ? T{part, 0} : T{0, part};
  } else if constexpr (kIsIndexed<T>) {
    // Few different values, so that the index must decide.
    T element;
    std::memset(&element, 0, sizeof element);
    element.value = static_cast<decltype(element.value)>(static_cast<int>(bits % 5) - 2);
    element.index = static_cast<std::int32_t>(serial(rank ^ 5, index) * 7 % (1 << 24));
    return element;
  } else if constexpr (std::is_integral_v<T>) {
    return integer_value<T>(kind, rank, index);
  } else {
    return real_value<T>(kind, rank, index);
  }
}

template <class T>
T fold_integers(OperatorKind kind, std::span<const T> x) {
  T result = x[0];
  for (const T operand : x.subspan(1)) result = test::combine_integers(kind, result, operand);
  if (kind != OperatorKind::average) return result;
  return static_cast<T>(static_cast<Wide>(result) / static_cast<Wide>(x.size()));
}

template <class T>
long double widen(T x) {
  if constexpr (kIsHalf<T>) return static_cast<long double>(static_cast<float>(x));
  else return static_cast<long double>(x);
}

/// The sum is exact, so that one rounding of the quotient is the only one.
template <class T>
T divide(long double sum, std::size_t count) {
  if constexpr (kIsHalf<T>) return T{static_cast<float>(sum) / static_cast<float>(count)};
  else return static_cast<T>(sum) / static_cast<T>(count);
}

template <class T>
T fold_reals(OperatorKind kind, std::span<const T> x) {
  long double all = widen(x[0]);
  for (const T operand : x.subspan(1)) all = test::combine_reals(kind, all, widen(operand));
  if (kind == OperatorKind::average) return divide<T>(all, x.size());
  if constexpr (kIsHalf<T>) return T{static_cast<float>(all)};
  else return static_cast<T>(all);
}

template <class T>
T fold_complex(OperatorKind kind, std::span<const T> x) {
  using Part = typename T::value_type;
  long double real = x[0].real();
  long double imaginary = x[0].imag();
  for (const T& operand : x.subspan(1)) {
    const long double a = operand.real();
    const long double b = operand.imag();
    if (kind == OperatorKind::prod) {
      const long double next = real * a - imaginary * b;
      imaginary = real * b + imaginary * a;
      real = next;
    } else {
      real += a;
      imaginary += b;
    }
  }
  if (kind == OperatorKind::average)
    return {divide<Part>(real, x.size()), divide<Part>(imaginary, x.size())};
  return {static_cast<Part>(real), static_cast<Part>(imaginary)};
}

template <class T>
T fold(OperatorKind kind, std::span<const T> x) {
  if constexpr (kIsComplex<T>) {
    return fold_complex(kind, x);
  } else if constexpr (kIsIndexed<T>) {
    T best = x[0];
    for (const T& next : x.subspan(1)) {
      const bool beyond =
          kind == OperatorKind::min_loc ? next.value < best.value : next.value > best.value;
      if (beyond || (next.value == best.value && next.index < best.index)) best = next;
    }
    return best;
  } else if constexpr (std::is_integral_v<T>) {
    return fold_integers(kind, x);
  } else {
    return fold_reals(kind, x);
  }
}

/// Equal as numbers: the sign of a zero depends on the order of evaluation.
template <class T>
bool equal(const T& a, const T& b) {
  if constexpr (kIsHalf<T>) return static_cast<float>(a) == static_cast<float>(b);
  else return a == b;
}

template <class T>
Model typed_model(OperatorKind kind) {
  Model model{.type = datatype_of<T>(), .element_bytes = sizeof(T), .op = kind};
  model.name = std::string{name_of(model.type)} + "_" + std::string{name_of(kind)};
  model.fill = [kind](Rank rank, std::size_t first, std::size_t count, void* to) {
    for (std::size_t i = 0; i < count; ++i)
      static_cast<T*>(to)[i] = value<T>(kind, rank, first + i);
  };
  model.reduce = [kind](std::span<const void* const> operands, std::size_t count, void* result) {
    std::vector<T> column(operands.size());
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t rank = 0; rank < operands.size(); ++rank)
        column[rank] = static_cast<const T*>(operands[rank])[i];
      static_cast<T*>(result)[i] = fold<T>(kind, column);
    }
  };
  model.differ = [](const void* got, const void* wanted, std::size_t count) {
    const T* a = static_cast<const T*>(got);
    const T* b = static_cast<const T*>(wanted);
    return static_cast<std::size_t>(std::mismatch(a, a + count, b, equal<T>).first - a);
  };
  return model;
}

/// The map x -> a x + b. Opaque to tutti.
struct Affine {
  std::uint32_t a;
  std::uint32_t b;
};

/// First `left`, then `right`.
Affine compose(const Affine& left, const Affine& right) {
  return {right.a * left.a, right.a * left.b + right.b};
}

std::size_t first_different_byte(const void* got, const void* wanted, std::size_t bytes) {
  const auto* a = static_cast<const std::byte*>(got);
  const auto* b = static_cast<const std::byte*>(wanted);
  return static_cast<std::size_t>(std::mismatch(a, a + bytes, b).first - a);
}

}  // namespace

std::uint64_t mix(Rank rank, std::size_t index) noexcept {
  std::uint64_t x = (static_cast<std::uint64_t>(index) << 8 | static_cast<std::uint64_t>(rank)) + 1;
  x *= 0xff51afd7ed558ccdu;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53u;
  return x ^ x >> 29;
}

Model model_of(Datatype type, OperatorKind kind) {
  Model model = opaque_model(1);
  with_element_type(type, [&]<class T>(const ElementType<T>&) { model = typed_model<T>(kind); });
  return model;
}

const std::vector<Model>& all_models() {
  static const std::vector<Model> models = [] {
    std::vector<Model> result{};
    for (int type = 0; type < kDatatypes; ++type)
      for (int kind = 0; kind < kOperatorKinds; ++kind)
        if (const auto t = static_cast<Datatype>(type); t != Datatype::opaque)
          if (const auto k = static_cast<OperatorKind>(kind); k != OperatorKind::user)
            if (is_defined(k, t)) result.push_back(model_of(t, k));
    return result;
  }();
  return models;
}

Model affine_model(bool claim) {
  const auto apply = [](const void* left, const void* right, void* out, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      static_cast<Affine*>(out)[i] =
          compose(static_cast<const Affine*>(left)[i], static_cast<const Affine*>(right)[i]);
  };
  Model model{.name = "affine_user",
              .type = Datatype::opaque,
              .element_bytes = sizeof(Affine),
              .op = Operator{apply, claim}};
  model.fill = [](Rank rank, std::size_t first, std::size_t count, void* to) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t bits = mix(rank, first + i);
      static_cast<Affine*>(to)[i] = {static_cast<std::uint32_t>(bits) | 1u,
                                     static_cast<std::uint32_t>(bits >> 32)};
    }
  };
  model.reduce = [](std::span<const void* const> operands, std::size_t count, void* result) {
    for (std::size_t i = 0; i < count; ++i) {
      Affine all{1, 0};
      for (const void* const operand : operands)
        all = compose(all, static_cast<const Affine*>(operand)[i]);
      static_cast<Affine*>(result)[i] = all;
    }
  };
  model.differ = [](const void* got, const void* wanted, std::size_t count) {
    return first_different_byte(got, wanted, count * sizeof(Affine)) / sizeof(Affine);
  };
  return model;
}

Model opaque_model(std::size_t element_bytes) {
  const auto apply = [element_bytes](const void* left, const void* right, void* out,
                                     std::size_t count) {
    for (std::size_t i = 0; i < count * element_bytes; ++i)
      static_cast<std::byte*>(out)[i] =
          static_cast<const std::byte*>(left)[i] ^ static_cast<const std::byte*>(right)[i];
  };
  Model model{.name = "opaque" + std::to_string(element_bytes) + "_user",
              .type = Datatype::opaque,
              .element_bytes = element_bytes,
              .op = Operator{apply, true}};
  model.fill = [element_bytes](Rank rank, std::size_t first, std::size_t count, void* to) {
    for (std::size_t i = 0; i < count * element_bytes; ++i)
      static_cast<std::byte*>(to)[i] =
          static_cast<std::byte>(mix(rank, first * element_bytes + i) & 0xff);
  };
  model.reduce = [element_bytes](std::span<const void* const> operands, std::size_t count,
                                 void* result) {
    std::memset(result, 0, count * element_bytes);
    for (const void* const operand : operands)
      for (std::size_t i = 0; i < count * element_bytes; ++i)
        static_cast<std::byte*>(result)[i] ^= static_cast<const std::byte*>(operand)[i];
  };
  model.differ = [element_bytes](const void* got, const void* wanted, std::size_t count) {
    return first_different_byte(got, wanted, count * element_bytes) / element_bytes;
  };
  return model;
}

}  // namespace tutti::harness
