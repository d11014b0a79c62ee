/// @file
/// Memory: operations on bytes in place. One implementation per kind of memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>

#include <tutti/export.hpp>
#include <tutti/operators.hpp>

namespace tutti::v0 {

/// One fold: destination = operands[0] op operands[1] op ..., evaluated from left to right, then
/// divided by `divisor`, then rounded to the datatype once. In an average of f16 or bf16, operands
/// and divisor are multiplied by powers of two first: intermediate sums are stored divided, so that
/// they stay in range.
struct Fold {
  Datatype type = Datatype::u8;             ///< Type of the elements.
  std::size_t element_bytes = 1;            ///< Size of one; required if type is opaque.
  const Operator* op = nullptr;             ///< The operator; null copies the only operand.
  void* destination = nullptr;              ///< May be one of the operands; no partial overlap.
  std::span<const void* const> operands{};  ///< One or more, each `count` elements.
  std::size_t count = 0;                    ///< Elements, not bytes.
  int divisor = 1;  ///< The number of ranks if this fold finishes an average.
  /// More places for the result; they overlap nothing else, except operands as destination may.
  std::span<void* const> copies{};
  /// For averages of f16 and bf16: the exponent of two by which each operand is multiplied. Empty:
  /// all zero.
  std::span<const std::int8_t> exponents{};
  int divisor_exponent = 0;  ///< The exponent of two for the divisor.
};

/// This host, or the control group of the process, has not the memory that is wanted.
class TUTTI_API MemoryShortage : public std::bad_alloc {
 public:
  /// @param wanted bytes. @param available bytes.
  MemoryShortage(std::size_t wanted, std::size_t available) noexcept;
  /// @return both numbers, in a sentence.
  [[nodiscard]] const char* what() const noexcept override { return text_.data(); }

 private:
  std::array<char, 192> text_{};
};

/// Allocates, copies and reduces memory of one kind. Thread-safe.
class TUTTI_API Memory {
 public:
  Memory() = default;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  virtual ~Memory() = default;

  /// Allocates scratch. @param bytes more than zero. @return memory aligned to 64 bytes. Throws
  /// std::bad_alloc.
  [[nodiscard]] virtual std::byte* allocate(std::size_t bytes) = 0;
  /// Releases memory of allocate. @param bytes the size of the allocation.
  virtual void deallocate(std::byte* data, std::size_t bytes) noexcept = 0;
  /// Copies without overlap.
  virtual void copy(std::byte* to, const std::byte* from, std::size_t bytes) = 0;
  /// Reduces. The operator must be defined for the datatype.
  virtual void fold(const Fold& work) = 0;
};

/// @param memory lives as long as the result. @return zeroed bytes; null for none. Throws
/// std::bad_alloc.
[[nodiscard]] TUTTI_API std::shared_ptr<std::byte> allocate_zeroed(std::shared_ptr<Memory> memory,
                                                                   std::size_t bytes);

/// Gets memory from the system for new bytes of the host, in huge pages if it has some: the first
/// write to 100 MiB takes a fifth of the time then. Does nothing to less than 32 MiB. Throws
/// MemoryShortage.
TUTTI_API void populate(std::span<std::byte> memory);

/// @return memory of the host. Reductions use the widest vector instructions of this processor.
[[nodiscard]] TUTTI_API std::shared_ptr<Memory> make_host_memory();

}  // namespace tutti::v0
