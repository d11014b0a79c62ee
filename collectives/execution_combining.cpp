// Messages that are combined while they come.
#include <algorithm>
#include <array>
#include <functional>

#include <tutti/spi/copy.hpp>

#include "execution.hpp"

namespace tutti::v0::detail {

/// What comes may end within an element, and lie where no element of its size should.
void Execution::Combining::combine(std::span<const std::byte> bytes) {
  constexpr std::size_t kBlockBytes = 4096;
  const std::size_t element_bytes = instance->owner->binding_->element_bytes;
  while (!bytes.empty()) {
    std::size_t part = bytes.size() / element_bytes * element_bytes;
    if (begun_ > 0 || part == 0) {
      part = std::min(element_bytes - begun_, bytes.size());
      copy_bytes(element_.data() + begun_, bytes.data(), part);
      begun_ = (begun_ + part) % element_bytes;
      if (begun_ == 0) combine_elements(std::span{element_}.first(element_bytes));
    } else if (reinterpret_cast<std::uintptr_t>(bytes.data()) % element_bytes != 0) {
      alignas(64) std::array<std::byte, kBlockBytes> block;
      part = std::min(part, kBlockBytes);
      copy_bytes(block.data(), bytes.data(), part);
      combine_elements(std::span{block}.first(part));
    } else {
      combine_elements(bytes.first(part));
    }
    bytes = bytes.subspan(part);
  }
}

/// Behind the last byte of a message comes the first one of the next.
void Execution::Combining::combine_elements(std::span<const std::byte> elements) {
  const Program& program = *instance->program;
  const std::size_t element_bytes = instance->owner->binding_->element_bytes;
  const auto combinations = program.combinations_of(program.operations[operation]);
  while (!elements.empty()) {
    const Combination& combination = combinations[combination_];
    const std::size_t part = std::min((combination.count - done_) * element_bytes, elements.size());
    instance->owner->combine_part(*instance, combination, done_, elements.first(part));
    elements = elements.subspan(part);
    done_ += part / element_bytes;
    if (done_ < combination.count) continue;
    combination_ = (combination_ + 1) % static_cast<std::uint32_t>(combinations.size());
    done_ = 0;
  }
}

/// Where the result goes, if the operand of our own lies elsewhere.
std::byte* Execution::Combining::staging() noexcept {
  const Program& program = *instance->program;
  const auto combinations = program.combinations_of(program.operations[operation]);
  if (combinations.size() != 1) return nullptr;
  const Execution& owner = *instance->owner;
  const std::size_t bytes = combinations[0].count * owner.binding_->element_bytes;
  std::byte* const destination = owner.at(*instance, combinations[0].destination);
  for (const Place& place : program.operands_of(combinations[0])) {
    if (place.base == Base::message) continue;
    const std::byte* const own = owner.at(*instance, place);
    constexpr std::less_equal<> is_at_or_before;
    if (!is_at_or_before(own + bytes, destination) && !is_at_or_before(destination + bytes, own))
      return nullptr;
  }
  return destination;
}

/// Of a combination with one incoming operand, some elements from `first` on. Called by any thread.
void Execution::combine_part(const Instance& instance, const Combination& combination,
                             std::size_t first, std::span<const std::byte> incoming) const {
  const std::size_t offset = first * binding_->element_bytes;
  std::array<const void*, 2> operands{};
  const std::span<const Place> places = instance.program->operands_of(combination);
  for (std::size_t i = 0; i < operands.size(); ++i)
    operands[i] =
        places[i].base == Base::message ? incoming.data() : at(instance, places[i]) + offset;
  Fold fold = fold_of(combination);
  fold.destination = at(instance, combination.destination) + offset;
  fold.operands = operands;
  std::array<std::int8_t, 2> exponents{};
  if (binding_->is_scaled) {
    set_exponents(combination, places, exponents);
    fold.exponents = exponents;
  }
  fold.count = incoming.size() / binding_->element_bytes;
  memory_.fold(fold);
}

}  // namespace tutti::v0::detail
