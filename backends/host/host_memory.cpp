// Memory of the host: allocation, copies, and the choice of the kernel for a fold.
#include "host_memory.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>

#include <tutti/error.hpp>

#include "integer_division.hpp"
#include "kernels.hpp"

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
  if (bytes == 0 || work.destination == work.operands[0]) return;
  std::memcpy(work.destination, work.operands[0], bytes);
}

// The user's function may be slow to enter, so two operands are one call. More of them go through
// scratch, block by block: the destination may be an operand that is still to be read.
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

// Block by block, so that the division finds the sums in the cache.
void average_integers(Kernel kernel, Work work, const Fold& fold) {
  const std::size_t element_bytes = size_of(fold.type);
  const std::size_t block = kBlockBytes / element_bytes;
  for (work.first = 0; work.first < fold.count; work.first = work.end) {
    work.end = work.first + std::min(block, fold.count - work.first);
    kernel(work);
    std::byte* const sums = element(work.destination, work.first * element_bytes);
    divide_integers(fold.type, sums, work.end - work.first, fold.divisor);
  }
}

class HostMemory final : public Memory {
 public:
  explicit HostMemory(InstructionSet set) : kernels_{kernels_of(set)} {}

  std::byte* allocate(std::size_t bytes) override {
    return static_cast<std::byte*>(::operator new(bytes, kAlignment));
  }

  void deallocate(std::byte* data, std::size_t) noexcept override {
    ::operator delete(data, kAlignment);
  }

  void copy(std::byte* to, const std::byte* from, std::size_t bytes) override {
    if (bytes != 0) std::memcpy(to, from, bytes);
  }

  void fold(const Fold& work) override {
    expects(!work.operands.empty(), "a fold has at least one operand");
    expects(work.divisor >= 1, "a fold is divided by one or more");
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
    expects(work.divisor == 1, "a user's reduction is not divided");
    fold_by_user(work, bytes);
  }

 private:
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
                    .divisor = fold.divisor};
    const bool is_integer = fold.type <= Datatype::u64;
    if (is_integer && fold.divisor != 1) return average_integers(kernel, work, fold);
    kernel(work);
  }

  const KernelTable& kernels_;
};

}  // namespace

std::shared_ptr<Memory> make_host_memory(InstructionSet set) {
  return std::make_shared<HostMemory>(set);
}

}  // namespace tutti::host

std::shared_ptr<tutti::Memory> tutti::make_host_memory() {
  return host::make_host_memory(host::supported_instruction_sets().back());
}
