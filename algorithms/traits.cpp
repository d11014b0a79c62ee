#include <tutti/error.hpp>
#include <tutti/spi/algorithm.hpp>

#include "finite_field.hpp"

namespace tutti::v0 {

/// Whether there is a Slim Fly of `size` routers.
static bool is_slim_fly(int size) noexcept {
  int q = 3;
  while (q < size / (2 * q)) ++q;
  return q * 2 * q == size && prime_power(q);
}

/// The admitted sizes, in words that follow "it supports".
static std::string_view words_of(Sizes sizes) noexcept {
  switch (sizes) {
    case Sizes::any: return "any number of ranks";
    case Sizes::even: return "even numbers of ranks";
    case Sizes::power_of_two: return "powers of two";
    case Sizes::slim_fly: return "2 q^2 ranks for prime powers q from 3 on";
  }
  return "";
}

std::string_view name_of(When when) noexcept {
  switch (when) {
    case When::never: return "never";
    case When::root_is_zero: return "root_is_zero";
    case When::power_of_two: return "power_of_two";
    case When::always: return "always";
  }
  return "unknown";
}

std::string_view name_of(Sizes sizes) noexcept {
  switch (sizes) {
    case Sizes::any: return "any";
    case Sizes::even: return "even";
    case Sizes::power_of_two: return "power_of_two";
    case Sizes::slim_fly: return "slim_fly";
  }
  return "unknown";
}

std::string_view name_of(AlgorithmParameter parameter) noexcept {
  switch (parameter) {
    case AlgorithmParameter::none: return "none";
    case AlgorithmParameter::radix: return "radix";
    case AlgorithmParameter::skips: return "skips";
    case AlgorithmParameter::blocks: return "blocks";
    case AlgorithmParameter::servers: return "servers";
    case AlgorithmParameter::in_flight: return "in_flight";
    case AlgorithmParameter::aggregation: return "aggregation";
    case AlgorithmParameter::graph: return "graph";
    case AlgorithmParameter::hierarchy: return "hierarchy";
  }
  return "unknown";
}

std::string_view key_of(AlgorithmParameter parameter) noexcept {
  switch (parameter) {
    case AlgorithmParameter::none: return "";
    case AlgorithmParameter::radix:
    case AlgorithmParameter::in_flight: return "k";
    case AlgorithmParameter::skips: return "skips";
    case AlgorithmParameter::blocks: return "b";
    case AlgorithmParameter::servers: return "s";
    case AlgorithmParameter::aggregation: return "a";
    case AlgorithmParameter::graph: return "graph";
    case AlgorithmParameter::hierarchy: return "";
  }
  return "";
}

bool holds(When when, int size, Rank root) noexcept {
  switch (when) {
    case When::never: return false;
    case When::root_is_zero: return root == 0;
    case When::power_of_two: return admits(Sizes::power_of_two, size);
    case When::always: return true;
  }
  return false;
}

bool admits(Sizes sizes, int size) noexcept {
  if (size < 1) return false;
  switch (sizes) {
    case Sizes::any: return true;
    case Sizes::even: return size == 1 || size % 2 == 0;
    case Sizes::power_of_two: return (size & (size - 1)) == 0;
    case Sizes::slim_fly: return size == 1 || is_slim_fly(size);
  }
  return false;
}

void require(Sizes sizes, int size) {
  if (admits(sizes, size)) return;
  throw Error{ErrorCode::invalid_argument, "it supports " + std::string{words_of(sizes)} +
                                               " only, and there are " + std::to_string(size) +
                                               " ranks"};
}

}  // namespace tutti::v0
