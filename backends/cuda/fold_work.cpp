#include "fold_work.hpp"

#include <algorithm>
#include <cstdint>
#include <string>

#include <tutti/error.hpp>

#include "elements.hpp"

namespace tutti::v0::cuda {
namespace {

void check_alignment(Datatype type, const void* data) {
  if (reinterpret_cast<std::uintptr_t>(data) % traits_of(type).alignment == 0) return;
  throw Error{ErrorCode::invalid_argument, "elements of " + std::string{name_of(type)} +
                                               " in memory of a GPU begin at multiples of " +
                                               std::to_string(traits_of(type).alignment) +
                                               " bytes"};
}

/// @return the operands of each launch except the last. They leave room for the results.
std::size_t operands_of_launch(const Fold& fold) {
  expects(fold.copies.size() < kPassedAddresses / 2, "a launch passes results and some operands");
  return kPassedAddresses - 1 - fold.copies.size();
}

Datatype kernel_of(Datatype type, OperatorKind op) noexcept {
  static_assert(static_cast<int>(Datatype::u64) == static_cast<int>(Datatype::i64) + 4);
  const int number = static_cast<int>(type);
  return type <= Datatype::i64 && !sees_sign(op) ? static_cast<Datatype>(number + 4) : type;
}

}  // namespace

std::size_t launches_of(const Fold& fold) {
  const std::size_t each = operands_of_launch(fold);
  return (fold.operands.size() + each - 1) / each;
}

std::size_t carried_bytes(Datatype type) noexcept {
  return type == Datatype::f16 || type == Datatype::bf16 ? sizeof(float) : size_of(type);
}

FoldWork work_of(const Fold& fold, std::size_t launch, void* carried) {
  const std::size_t first = launch * operands_of_launch(fold);
  const bool is_last = launch + 1 == launches_of(fold);
  const auto operands = is_last ? fold.operands.subspan(first)
                                : fold.operands.subspan(first, operands_of_launch(fold));
  FoldWork work{kernel_of(fold.type, fold.op->kind()),
                {.op = static_cast<std::uint32_t>(fold.op->kind()),
                 .operands = static_cast<std::uint32_t>(operands.size()),
                 .divisor = fold.divisor,
                 .count = fold.count,
                 .divisor_exponent = fold.divisor_exponent,
                 .has_exponents = !fold.exponents.empty(),
                 .carried_in = launch == 0 ? nullptr : carried,
                 .carried_out = is_last ? nullptr : carried}};
  KernelWork& kernel = work.kernel;
  std::size_t addresses = 0;
  const auto add = [&](void* data) {
    check_alignment(fold.type, data);
    kernel.addresses[addresses++] = data;
  };
  for (const void* const operand : operands) add(const_cast<void*>(operand));
  if (is_last) {
    add(fold.destination);
    for (void* const copy : fold.copies) add(copy);
  }
  kernel.results = static_cast<std::uint32_t>(addresses - operands.size());
  if (kernel.has_exponents)
    std::ranges::copy(fold.exponents.subspan(first, operands.size()), kernel.exponents);
  const Chunks chunks = chunks_of(PassedAddresses{kernel}, kernel, size_of(fold.type));
  kernel.head = chunks.head;
  kernel.chunks = chunks.chunks;
  return work;
}

void put_peers(KernelWork& work, std::span<const PeerAddress> peers) {
  for (const auto& [operand, cell, offset] : peers) {
    expects(operand < std::min<std::size_t>(kPeerOperands, work.operands),
            "a kernel reads addresses of its first operands only");
    work.peers |= 1U << operand;
    work.addresses[operand] = cell;
    work.offsets[operand] = offset;
  }
  if (work.peers == 0) return;
  work.head = work.count;  // the device finds chunks
  work.chunks = 0;
}

}  // namespace tutti::v0::cuda
