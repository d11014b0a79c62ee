#include "perf/sweep/pattern.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <type_traits>

#include <tutti/error.hpp>

namespace tutti::perf {

namespace {

// The parameters of the loops.
struct Recipe {
  OperatorKind op;
  std::uint64_t ranks;
};

std::uint64_t mix(std::uint64_t rank, std::uint64_t position) {
  std::uint64_t x = (rank + 1) * 0x9e3779b97f4a7c15u + position * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 31)) * 0x94d049bb133111ebu;
  return x ^ (x >> 29);
}

template <class T>
constexpr bool is_float = std::is_same_v<T, float> || std::is_same_v<T, double> ||
                          std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;

// The greatest n such that T represents all whole numbers up to n.
template <class T>
constexpr std::uint64_t exact_limit() {
  if constexpr (std::is_same_v<T, BFloat16>) return 256;
  else if constexpr (std::is_same_v<T, Float16>) return 2048;
  else if constexpr (sizeof(T) == 1) return 127;
  else if constexpr (sizeof(T) == 2) return 32767;
  else return std::uint64_t{1} << 24;
}

// The exponent of the greatest power of two in T.
template <class T>
constexpr std::uint64_t most_doublings() {
  if constexpr (std::is_same_v<T, BFloat16> || std::is_same_v<T, float>) return 127;
  else if constexpr (std::is_same_v<T, Float16>) return 15;
  else if constexpr (std::is_same_v<T, double>) return 1023;
  else return std::numeric_limits<T>::digits - 1;
}

// With many ranks, only some contribute at each position, and others at the next.
bool takes_part(const Recipe& recipe, std::uint64_t rank, std::uint64_t position,
                std::uint64_t most) {
  return (rank + position) % recipe.ranks < most;
}

// A rank's operand as a whole number.
template <class T>
std::uint64_t operand(const Recipe& recipe, std::uint64_t rank, std::uint64_t position) {
  const std::uint64_t random = mix(rank, position);
  // Operators of integers alone: a short T would make zero of an operand without its last bit.
  if (!is_defined(recipe.op, Datatype::f64)) return random % 4 == 0 ? 0 : random | 1;
  if (recipe.op == OperatorKind::prod) {
    const std::uint64_t most = std::min((recipe.ranks + 7) / 8, most_doublings<T>());
    return takes_part(recipe, rank, position, most) ? 2 : 1;
  }
  // The sum of all ranks' operands must be exact.
  const std::uint64_t most = exact_limit<T>();
  if (!takes_part(recipe, rank, position, most)) return 0;
  return random % (std::max<std::uint64_t>(1, most / recipe.ranks) + 1);
}

template <class T, class Wide>
T narrow(Wide value) {
  if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>)
    return T{static_cast<float>(value)};
  else return static_cast<T>(value);
}

// Combines real numbers as double, and integers as std::uint64_t.
template <class Wide>
Wide combine(OperatorKind op, Wide a, Wide b) {
  const auto bits = [](Wide value) { return static_cast<std::uint64_t>(value); };
  switch (op) {
    case OperatorKind::sum:
    case OperatorKind::average: return a + b;
    case OperatorKind::prod: return a * b;
    case OperatorKind::min: return std::min(a, b);
    case OperatorKind::max: return std::max(a, b);
    case OperatorKind::logical_and: return a != 0 && b != 0 ? 1 : 0;
    case OperatorKind::logical_or: return a != 0 || b != 0 ? 1 : 0;
    case OperatorKind::logical_xor: return (a != 0) != (b != 0) ? 1 : 0;
    case OperatorKind::bit_and: return static_cast<Wide>(bits(a) & bits(b));
    case OperatorKind::bit_or: return static_cast<Wide>(bits(a) | bits(b));
    case OperatorKind::bit_xor: return static_cast<Wide>(bits(a) ^ bits(b));
    case OperatorKind::min_loc:
    case OperatorKind::max_loc:
    case OperatorKind::user: break;  // not defined for these elements
  }
  return a;
}

// Real numbers and integers.
template <class T>
struct Element {
  using Wide = std::conditional_t<is_float<T>, double, std::uint64_t>;

  static T value(const Recipe& recipe, std::uint64_t rank, std::uint64_t position) {
    return narrow<T>(static_cast<Wide>(operand<T>(recipe, rank, position)));
  }
  static T reduced(const Recipe& recipe, std::uint64_t position, std::uint64_t contributors) {
    auto result = static_cast<Wide>(operand<T>(recipe, 0, position));
    for (std::uint64_t rank = 1; rank < contributors; ++rank) {
      const auto other = static_cast<Wide>(operand<T>(recipe, rank, position));
      result = combine(recipe.op, result, other);
    }
    if (recipe.op == OperatorKind::average) result /= static_cast<Wide>(recipe.ranks);
    return narrow<T>(result);
  }
  static std::uint64_t bits(T value) {
    if constexpr (is_float<T>)
      return std::bit_cast<std::uint64_t>(static_cast<double>(static_cast<float>(value)) + 0.0);
    else return static_cast<std::uint64_t>(value);
  }
};

template <>
std::uint64_t Element<double>::bits(double value) {
  return std::bit_cast<std::uint64_t>(value + 0.0);  // + 0.0 makes both zeros equal
}

template <class F>
struct Element<std::complex<F>> {
  using T = std::complex<F>;

  static T value(const Recipe& recipe, std::uint64_t rank, std::uint64_t position) {
    if (recipe.op == OperatorKind::prod) return unit(mix(rank, position));
    return {Element<F>::value(recipe, rank, position),
            Element<F>::value(recipe, rank, position + 1)};
  }
  static T reduced(const Recipe& recipe, std::uint64_t position, std::uint64_t contributors) {
    if (recipe.op != OperatorKind::prod)
      return {Element<F>::reduced(recipe, position, contributors),
              Element<F>::reduced(recipe, position + 1, contributors)};
    std::uint64_t turns = 0;
    for (std::uint64_t rank = 0; rank < contributors; ++rank) turns += mix(rank, position) % 4;
    return unit(turns);
  }
  static std::uint64_t bits(T value) {
    return Element<F>::bits(value.real()) * 31 + Element<F>::bits(value.imag());
  }
  // A power of the imaginary unit: products of these are exact.
  static T unit(std::uint64_t power) {
    const F one = power % 4 < 2 ? F{1} : F{-1};
    return power % 2 == 0 ? T{one, F{0}} : T{F{0}, one};
  }
};

template <class V>
struct Element<Indexed<V>> {
  using T = Indexed<V>;

  static T value(const Recipe& recipe, std::uint64_t rank, std::uint64_t position) {
    const std::uint64_t random = mix(rank, position);
    return {static_cast<V>(random % 16),
            static_cast<std::int32_t>((random >> 8) % 1000 * recipe.ranks + rank)};
  }
  static T reduced(const Recipe& recipe, std::uint64_t position, std::uint64_t contributors) {
    T best = value(recipe, 0, position);
    for (std::uint64_t rank = 1; rank < contributors; ++rank) {
      const T other = value(recipe, rank, position);
      const bool wins =
          recipe.op == OperatorKind::min_loc ? other.value < best.value : other.value > best.value;
      if (wins || (other.value == best.value && other.index < best.index)) best = other;
    }
    return best;
  }
  static std::uint64_t bits(T value) {
    return Element<V>::bits(value.value) * 31 + static_cast<std::uint64_t>(value.index);
  }
};

template <class T>
std::size_t differences(const std::byte* a, const std::byte* b, std::size_t count) {
  const auto* x = reinterpret_cast<const T*>(a);
  const auto* y = reinterpret_cast<const T*>(b);
  std::size_t result = 0;
  for (std::size_t i = 0; i < count; ++i) result += x[i] == y[i] ? 0 : 1;
  return result;
}

// Calls function(offset in the buffer, offset in the period, elements) for each run.
template <class Function>
void for_each_run(const Region& region, const Function& function) {
  std::size_t done = 0;
  while (done < region.count) {
    const std::size_t phase = (region.position + done) % Pattern::kPeriod;
    const std::size_t run = std::min(region.count - done, Pattern::kPeriod - phase);
    function(region.offset + done, phase, run);
    done += run;
  }
}

}  // namespace

Pattern::Pattern(const Workload& workload)
    : workload_{workload}, element_bytes_{size_of(workload.type)} {}

const std::vector<std::byte>& Pattern::table(Rank source) {
  const auto found = tables_.find(source);
  if (found != tables_.end()) return found->second;
  std::vector<std::byte> bytes(kPeriod * element_bytes_);
  const Recipe recipe{workload_.op, static_cast<std::uint64_t>(workload_.size)};
  const Rank contributors =
      source == Region::kAllRanks ? workload_.size : Region::kAllRanks - source;
  with_element_type(workload_.type, [&]<class T>(const ElementType<T>&) {
    for (std::size_t i = 0; i < kPeriod; ++i) {
      const T element =
          source < 0 ? Element<T>::reduced(recipe, i, static_cast<std::uint64_t>(contributors))
                     : Element<T>::value(recipe, static_cast<std::uint64_t>(source), i);
      std::memcpy(bytes.data() + i * sizeof(T), &element, sizeof(T));
    }
  });
  return tables_.emplace(source, std::move(bytes)).first->second;
}

void Pattern::fill(std::span<const Region> regions, std::byte* buffer) {
  for (const Region& region : regions) {
    const std::byte* from = table(region.source).data();
    for_each_run(region, [&](std::size_t offset, std::size_t phase, std::size_t run) {
      std::memcpy(buffer + offset * element_bytes_, from + phase * element_bytes_,
                  run * element_bytes_);
    });
  }
}

std::size_t Pattern::count_wrong(std::span<const Region> regions, const std::byte* buffer) {
  std::size_t wrong = 0;
  for (const Region& region : regions) {
    const std::byte* wanted = table(region.source).data();
    for_each_run(region, [&](std::size_t offset, std::size_t phase, std::size_t run) {
      with_element_type(workload_.type, [&]<class T>(const ElementType<T>&) {
        wrong +=
            differences<T>(buffer + offset * element_bytes_, wanted + phase * element_bytes_, run);
      });
    });
  }
  return wrong;
}

std::uint64_t Pattern::hash(std::span<const Region> regions, const std::byte* buffer) const {
  std::uint64_t result = 0xcbf29ce484222325u;
  for (const Region& region : regions) {
    with_element_type(workload_.type, [&]<class T>(const ElementType<T>&) {
      const auto* elements = reinterpret_cast<const T*>(buffer) + region.offset;
      for (std::size_t i = 0; i < region.count; ++i)
        result = std::rotl(result ^ Element<T>::bits(elements[i]), 5) * 0x100000001b3u;
    });
  }
  return result;
}

}  // namespace tutti::perf
