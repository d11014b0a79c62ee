#include <tutti/error.hpp>
#include <tutti/spi/algorithm.hpp>

#include "finite_field.hpp"

namespace tutti::inline v0 {

/// Whether a Slim Fly has so many routers.
static bool is_slim_fly(int size) noexcept {
  int q = 3;
  while (q < size / (2 * q)) ++q;
  return q * 2 * q == size && prime_power(q);
}

/// What is admitted, after "it serves".
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

std::string_view name_of(Parameter parameter) noexcept {
  switch (parameter) {
    case Parameter::none: return "none";
    case Parameter::radix: return "radix";
    case Parameter::skips: return "skips";
    case Parameter::blocks: return "blocks";
    case Parameter::servers: return "servers";
    case Parameter::in_flight: return "in_flight";
    case Parameter::aggregation: return "aggregation";
    case Parameter::graph: return "graph";
    case Parameter::hierarchy: return "hierarchy";
  }
  return "unknown";
}

std::string_view key_of(Parameter parameter) noexcept {
  switch (parameter) {
    case Parameter::none: return "";
    case Parameter::radix:
    case Parameter::in_flight: return "k";
    case Parameter::skips: return "skips";
    case Parameter::blocks: return "b";
    case Parameter::servers: return "s";
    case Parameter::aggregation: return "a";
    case Parameter::graph: return "graph";
    case Parameter::hierarchy: return "";
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
  throw Error{ErrorCode::invalid_argument, "it serves " + std::string{words_of(sizes)} +
                                               " only, and there are " + std::to_string(size) +
                                               " ranks"};
}

}  // namespace tutti::inline v0
