// Memory of the host: allocation, copies, and the choice of the kernel for a fold.
#include "host_memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>

#include <tutti/error.hpp>
#include <tutti/spi/copy.hpp>
#include <tutti/spi/streaming.hpp>

#include "base/available_memory.hpp"
#include "integer_division.hpp"
#include "kernels.hpp"
#include "streams.hpp"

namespace tutti::host {
namespace {

constexpr std::align_val_t kAlignment{64};

// Small enough that a block stays in the first-level cache between the passes over it.
constexpr std::size_t kBlockBytes = 4096;

const std::byte* element(const void* array, std::size_t offset_bytes) {
  return static_cast<const std::byte*>(array) + offset_bytes;
}

std::byte* element(void* array, std::size_t offset_bytes) {
  return static_cast<std::byte*>(array) + offset_bytes;
}

void copy_operand(const Fold& work, std::size_t element_bytes) {
  const std::size_t bytes = work.count * element_bytes;
  if (bytes == 0) return;
  if (work.destination != work.operands[0]) copy_bytes(work.destination, work.operands[0], bytes);
  for (void* const copy : work.copies) copy_bytes(copy, work.destination, bytes);
}

// A call of the user's function may be slow, so two operands take one call. More operands go
// through scratch, block by block, since the destination may be an operand that was not read yet.
void fold_by_user(const Fold& work, std::size_t element_bytes) {
  const UserFunction& function = *work.op->function();
  const auto& operands = work.operands;
  if (operands.size() == 2) {
    function(operands[0], operands[1], work.destination, work.count);
    return;
  }
  const std::size_t block = std::max<std::size_t>(kBlockBytes / element_bytes, 1);
  alignas(64) std::array<std::byte, kBlockBytes> small;
  std::unique_ptr<std::byte[]> large;
  if (element_bytes > kBlockBytes) large = std::make_unique<std::byte[]>(element_bytes);
  std::byte* const scratch = large ? large.get() : small.data();
  for (std::size_t first = 0; first < work.count; first += block) {
    const std::size_t offset = first * element_bytes;
    const std::size_t count = std::min(block, work.count - first);
    const std::byte* left = element(operands.front(), offset);
    for (const void* operand : operands.subspan(1, operands.size() - 2)) {
      function(left, element(operand, offset), scratch, count);
      left = scratch;
    }
    function(left, element(operands.back(), offset), element(work.destination, offset), count);
  }
}

// Copies of at least this many bytes bypass the caches, which could not hold them.
constexpr std::size_t kStreamedBytes = std::size_t{8} << 20;
// Results with several places bypass the caches from this size on: with their operands they are
// twice as many bytes.
constexpr std::size_t kStreamedFoldBytes = kStreamedBytes / 2;

const std::int8_t* exponents_of(const Fold& fold) noexcept {
  return fold.exponents.empty() ? nullptr : fold.exponents.data();
}

/// Streams the line of a destination that begins at `at` or before the next step. The first step
/// also stores the bytes before its line, the last one those behind it.
void stream_step(std::byte* to, const std::byte* from, std::size_t at, std::size_t bytes) {
  const std::size_t head = -reinterpret_cast<std::uintptr_t>(to) % kLine;
  if (at == 0) copy_bytes(to, from, std::min(head, bytes));
  const std::size_t line = head + at;
  if (line + kLine <= bytes) stream_line(to + line, from + line);
  else if (line < bytes) copy_bytes(to + line, from + line, bytes - line);
}

/// Stores results of a fold in all their places, and prefetches the operands of the next ones.
/// Otherwise each step would wait for the memory, and a fold would take half as long again.
void stream_results(const std::byte* results, const Fold& fold, std::size_t offset,
                    std::size_t bytes) {
  const std::size_t left = fold.count * size_of(fold.type) - offset - bytes;
  for (std::size_t at = 0; at < bytes; at += kLine) {
    if (at < left)
      for (const void* const operand : fold.operands)
        __builtin_prefetch(element(operand, offset + bytes + at));
    stream_step(element(fold.destination, offset), results, at, bytes);
    for (void* const copy : fold.copies) stream_step(element(copy, offset), results, at, bytes);
  }
}

/// Reduces two operands to several places.
void fold_in_streams(Kernel kernel, const Fold& fold, bool divides) {
  const std::size_t element_bytes = size_of(fold.type);
  const std::size_t block = kBlockBytes / element_bytes;
  alignas(64) std::array<std::byte, kBlockBytes> results;
  for (std::size_t first = 0; first < fold.count; first += block) {
    const std::size_t offset = first * element_bytes;
    const std::size_t count = std::min(block, fold.count - first);
    const std::array<const void*, 2> operands{element(fold.operands[0], offset),
                                              element(fold.operands[1], offset)};
    kernel({.destination = results.data(),
            .operands = operands.data(),
            .operand_count = operands.size(),
            .first = 0,
            .end = count,
            .divisor = fold.divisor,
            .exponents = exponents_of(fold),
            .divisor_exponent = fold.divisor_exponent});
    if (divides) divide_integers(fold.type, results.data(), count, fold.divisor);
    stream_results(results.data(), fold, offset, count * element_bytes);
  }
  end_streams();
}

// Folds block by block, so that the division and the copies find the results in the cache.
void fold_by_blocks(Kernel kernel, Work work, const Fold& fold, bool divides) {
  const std::size_t element_bytes = size_of(fold.type);
  const std::size_t block = kBlockBytes / element_bytes;
  for (work.first = 0; work.first < fold.count; work.first = work.end) {
    work.end = work.first + std::min(block, fold.count - work.first);
    kernel(work);
    const std::size_t offset = work.first * element_bytes;
    std::byte* const results = element(work.destination, offset);
    if (divides) divide_integers(fold.type, results, work.end - work.first, fold.divisor);
    for (void* const copy : fold.copies)
      copy_bytes(element(copy, offset), results, (work.end - work.first) * element_bytes);
  }
}

class HostMemory final : public Memory {
 public:
  explicit HostMemory(const KernelTable& kernels) : kernels_{kernels} {}

  std::byte* allocate(std::size_t bytes) override {
    std::byte* const data = reserve(bytes);
    try {
      populate({data, bytes});
    } catch (...) {
      deallocate(data, bytes);
      throw;
    }
    return data;
  }

  void deallocate(std::byte* data, std::size_t) noexcept override {
    ::operator delete(data, kAlignment);
  }

  void copy(std::byte* to, const std::byte* from, std::size_t bytes) override {
    if (bytes >= kStreamedBytes) {
      stream(to, from, bytes);
      end_streams();
    } else if (bytes > kLine) {
      kernels_.copy(to, from, bytes);
    } else {
      copy_bytes(to, from, bytes);
    }
  }

  void fold(const Fold& work) override {
    expects(!work.operands.empty(), "a fold has at least one operand");
    expects(work.divisor >= 1, "a fold is divided by one or more");
    expects(work.exponents.empty() || work.exponents.size() == work.operands.size(),
            "each operand has an exponent, or none has");
    const std::size_t bytes =
        work.type == Datatype::opaque ? work.element_bytes : size_of(work.type);
    if (work.op == nullptr) {
      expects(work.operands.size() == 1 && work.divisor == 1, "a fold of several has an operator");
      return copy_operand(work, bytes);
    }
    const Kernel kernel = kernel_of(work);
    const bool by_user = work.op->kind() == OperatorKind::user;
    expects(by_user || kernel != nullptr, "a fold's operator fits its datatype");
    if (work.count == 0) return;
    if (work.operands.size() == 1 && work.divisor == 1) return copy_operand(work, bytes);
    if (!by_user) return fold_built_in(kernel, work);
    expects(work.divisor == 1 && work.copies.empty(), "a user's reduction is that alone");
    fold_by_user(work, bytes);
  }

 private:
  // Uses the operator new that throws: programs that replace it may leave out the other one.
  static std::byte* reserve(std::size_t bytes) {
    try {
      return static_cast<std::byte*>(::operator new(bytes, kAlignment));
    } catch (const std::bad_alloc&) {
      throw MemoryShortage{bytes, detail::available_memory()};
    }
  }
  [[nodiscard]] Kernel kernel_of(const Fold& fold) const {
    const auto type = static_cast<std::size_t>(fold.type);
    const auto kind = static_cast<std::size_t>(fold.op->kind());
    expects(type < kDatatypes && kind < kOperatorKinds, "a fold's operator and datatype exist");
    return kernels_.kernels[type][kind];
  }

  static void fold_built_in(Kernel kernel, const Fold& fold) {
    const Work work{.destination = fold.destination,
                    .operands = fold.operands.data(),
                    .operand_count = fold.operands.size(),
                    .first = 0,
                    .end = fold.count,
                    .divisor = fold.divisor,
                    .exponents = exponents_of(fold),
                    .divisor_exponent = fold.divisor_exponent};
    const bool divides = is_integer(fold.type) && fold.divisor != 1;
    const bool streams = !fold.copies.empty() && fold.operands.size() == 2 &&
                         fold.count * size_of(fold.type) >= kStreamedFoldBytes;
    if (streams) return fold_in_streams(kernel, fold, divides);
    if (divides || !fold.copies.empty()) return fold_by_blocks(kernel, work, fold, divides);
    kernel(work);
  }

  const KernelTable& kernels_;
};

}  // namespace

std::shared_ptr<Memory> make_host_memory(InstructionSet set) {
  return std::make_shared<HostMemory>(kernels_of(set));
}

}  // namespace tutti::host

std::shared_ptr<tutti::Memory> tutti::make_host_memory() {
  return std::make_shared<host::HostMemory>(host::widest_kernels());
}

std::shared_ptr<std::byte> tutti::allocate_zeroed(std::shared_ptr<tutti::Memory> memory,
                                                  std::size_t bytes) {
  if (bytes == 0) return nullptr;
  std::byte* const data = memory->allocate(bytes);
  std::memset(data, 0, bytes);
  return {data, [memory = std::move(memory), bytes](std::byte* allocated) {
            memory->deallocate(allocated, bytes);
          }};
}

void tutti::populate(std::span<std::byte> memory) {
  constexpr std::size_t kPage = std::size_t{4} << 10;
  constexpr std::size_t kHugePage = std::size_t{2} << 20;
  if (memory.size() < detail::kLargeAllocation) return;
  const auto begin = reinterpret_cast<std::uintptr_t>(memory.data());
  const std::size_t before = (kHugePage - begin % kHugePage) % kHugePage;
  const std::size_t bytes = (memory.size() - before) / kHugePage * kHugePage;
  ::madvise(memory.data() + before, bytes, MADV_HUGEPAGE);  // a refusal costs time only
  detail::take_memory(memory.size(), [memory](std::size_t offset, std::size_t size) {
    for (std::size_t at = offset; at < offset + size; at += kPage) memory[at] = std::byte{0};
  });
}
