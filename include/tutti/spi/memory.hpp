/// @file
/// Memory: what can be done to bytes where they lie. One implementation per memory kind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include <tutti/export.hpp>
#include <tutti/operators.hpp>

namespace tutti::v0 {

/// One fold: destination = operands[0] op operands[1] op ... , evaluated from left to right, then
/// divided by `divisor`, then rounded to the datatype once. Of an average of f16 or bf16, operands
/// are multiplied by powers of two first, and so is the divisor: sums of few and of many ranks are
/// stored divided, so that they are in the range of what is averaged.
struct Fold {
  Datatype type = Datatype::u8;              ///< Type of the elements.
  std::size_t element_bytes = 1;             ///< Size of one; needed where type is opaque.
  const Operator* op = nullptr;              ///< The operator; null copies the only operand.
  void* destination = nullptr;               ///< May be one of the operands, never overlap partly.
  std::span<const void* const> operands{};   ///< One or more, each `count` elements.
  std::size_t count = 0;                     ///< Elements, not bytes.
  int divisor = 1;                           ///< The number of ranks where an average is finished.
  std::span<void* const> copies{};           ///< Where the result is stored as well; they overlap
                                             ///< nothing else, but for operands as destination may.
  std::span<const std::int8_t> exponents{};  ///< Of averages of f16 and bf16: by operand, the power
                                             ///< of two that it is multiplied by. None: all zero.
  int divisor_exponent = 0;                  ///< Likewise of the divisor.
};

/// Allocates, copies and reduces memory of one kind. Calls from several threads at once are safe.
class TUTTI_API Memory {
 public:
  Memory() = default;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  virtual ~Memory() = default;

  /// Allocates scratch. @param bytes more than zero. @return memory aligned to 64 bytes; throws
  /// std::bad_alloc.
  [[nodiscard]] virtual std::byte* allocate(std::size_t bytes) = 0;
  /// Returns what allocate gave. @param data the memory. @param bytes the size asked for.
  virtual void deallocate(std::byte* data, std::size_t bytes) noexcept = 0;
  /// Copies without overlap. @param to destination. @param from source. @param bytes how many.
  virtual void copy(std::byte* to, const std::byte* from, std::size_t bytes) = 0;
  /// Reduces. @param work what to do. The operator must be defined for the datatype.
  virtual void fold(const Fold& work) = 0;
};

/// @param memory where to allocate; it lives on with what was allocated. @param bytes how many.
/// @return them, zeroed; null where there are none. Throws std::bad_alloc.
[[nodiscard]] TUTTI_API std::shared_ptr<std::byte> allocate_zeroed(std::shared_ptr<Memory> memory,
                                                                   std::size_t bytes);

/// @return memory of the host. Reductions use the widest vector instructions this processor has.
[[nodiscard]] TUTTI_API std::shared_ptr<Memory> make_host_memory();

}  // namespace tutti::v0
