/// @file
/// Messages that are combined while they arrive.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <tutti/spi/transport.hpp>

namespace tutti::v0::detail {

class BoundProgram;

/// Combines the message of one operation with the rank's operand, part by part. It serves many
/// messages, one after the other.
class ArrivalCombiner final : public Combiner {
 public:
  void combine(std::span<const std::byte> bytes) override;
  [[nodiscard]] std::byte* staging() noexcept override;

  /// @param operation of the program, which receives the message.
  void bind(const BoundProgram& program, std::uint32_t operation) noexcept {
    program_ = &program;
    operation_ = operation;
  }

 private:
  void combine_elements(std::span<const std::byte> elements);

  const BoundProgram* program_ = nullptr;
  std::uint32_t operation_ = 0;
  std::uint32_t combination_ = 0;        // the next one of the operation
  std::size_t done_ = 0;                 // its elements that are combined
  std::array<std::byte, 16> element_{};  // an element that arrives in parts
  std::size_t begun_ = 0;                // its bytes so far
};

}  // namespace tutti::v0::detail
