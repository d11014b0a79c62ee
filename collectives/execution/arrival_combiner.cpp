#include "arrival_combiner.hpp"

#include <algorithm>
#include <functional>

#include <tutti/spi/copy.hpp>

#include "bound_program.hpp"

namespace tutti::v0::detail {

/// A part may end within an element, and need not be aligned for elements.
void ArrivalCombiner::combine(std::span<const std::byte> bytes) {
  constexpr std::size_t kBlockBytes = 4096;
  const std::size_t element_bytes = program_->element_bytes();
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

/// After the last combination of a message comes the first one of the next message.
void ArrivalCombiner::combine_elements(std::span<const std::byte> elements) {
  const Program& program = program_->program();
  const std::size_t element_bytes = program_->element_bytes();
  const auto combinations = program.combinations_of(program.operations[operation_]);
  while (!elements.empty()) {
    const Combination& combination = combinations[combination_];
    const std::size_t part = std::min((combination.count - done_) * element_bytes, elements.size());
    program_->combine_part(combination, done_, elements.first(part));
    elements = elements.subspan(part);
    done_ += part / element_bytes;
    if (done_ < combination.count) continue;
    combination_ = (combination_ + 1) % static_cast<std::uint32_t>(combinations.size());
    done_ = 0;
  }
}

/// @return the destination, if it is one run of bytes that does not overlap the own operand.
std::byte* ArrivalCombiner::staging() noexcept {
  const Program& program = program_->program();
  const auto combinations = program.combinations_of(program.operations[operation_]);
  if (combinations.size() != 1) return nullptr;
  const std::size_t bytes = combinations[0].count * program_->element_bytes();
  std::byte* const destination = program_->at(combinations[0].destination);
  for (const Place& place : program.operands_of(combinations[0])) {
    if (place.base == Base::message) continue;
    const std::byte* const own = program_->at(place);
    constexpr std::less_equal<> is_at_or_before;
    if (!is_at_or_before(own + bytes, destination) && !is_at_or_before(destination + bytes, own))
      return nullptr;
  }
  return destination;
}

}  // namespace tutti::v0::detail
