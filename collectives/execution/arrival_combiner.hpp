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

/// Combines the message of one operation with what the rank has, part by part, again and again.
class ArrivalCombiner final : public Combiner {
 public:
  void combine(std::span<const std::byte> bytes) override;
  [[nodiscard]] std::byte* staging() noexcept override;

  /// @param program whose @param operation receives the message.
  void bind(const BoundProgram& program, std::uint32_t operation) noexcept {
    program_ = &program;
    operation_ = operation;
  }

 private:
  void combine_elements(std::span<const std::byte> elements);

  const BoundProgram* program_ = nullptr;
  std::uint32_t operation_ = 0;
  std::uint32_t combination_ = 0;        // the next one of the operation
  std::size_t done_ = 0;                 // elements of it
  std::array<std::byte, 16> element_{};  // which comes in parts
  std::size_t begun_ = 0;                // bytes of that
};

}  // namespace tutti::v0::detail
