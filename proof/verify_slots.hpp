/// @file
/// Internal to the verifier: arithmetic on slots.
#pragma once

#include <cstddef>
#include <cstdint>

#include <tutti/spi/schedule.hpp>

namespace tutti::verifying {

/// @param slots a run. @param units of the whole vector.
/// @return its first index in `out` followed by the planes of scratch. `in` shares the indices of
/// `out`, because in place it is the same memory.
[[nodiscard]] inline std::size_t cell_of(const Slots& slots, std::uint32_t units) noexcept {
  return slots.space == Space::scratch ? std::size_t{units} + slots.first : slots.first;
}

/// @param slots a run. @param index in [0, count). @param units of the whole vector.
/// @return the unit whose shape that slot has.
[[nodiscard]] inline std::uint32_t unit_of(const Slots& slots, std::uint32_t index,
                                           std::uint32_t units) noexcept {
  const std::uint32_t slot = slots.first + index;
  return slot < units ? slot : slot % units;
}

/// @param kind of a step. @return whether its slots are a reduction's result.
[[nodiscard]] inline bool is_fold(Step::Kind kind) noexcept {
  return kind == Step::Kind::recv_reduce || kind == Step::Kind::reduce;
}

/// @param kind of a step. @return whether it reads slots of the same rank: see Step::from.
[[nodiscard]] inline bool is_local(Step::Kind kind) noexcept {
  return kind == Step::Kind::reduce || kind == Step::Kind::copy;
}

/// @param kind of a step. @return whether it receives.
[[nodiscard]] inline bool is_receive(Step::Kind kind) noexcept {
  return kind == Step::Kind::recv || kind == Step::Kind::recv_reduce;
}

}  // namespace tutti::verifying
