/// @file
/// Elements: how large they are, and what the operators do with them.
#pragma once

#include <array>
#include <cstddef>

#include <nccl.h>

namespace tutti::nccl_standin {

/// @return the bytes of an element, or zero for a datatype that there is not.
std::size_t size_of(ncclDataType_t datatype) noexcept;
bool is_operator(ncclRedOp_t op) noexcept;

/// The arguments of a reduction.
struct Reduction {
  ncclDataType_t datatype{};
  ncclRedOp_t op{};
  std::size_t count = 0;
};

/// into = into op from, by element. The mean is only summed here.
void accumulate(const Reduction& reduction, std::byte* into, const std::byte* from);

/// The last step: divides a sum by the number of ranks for a mean.
void finish(const Reduction& reduction, std::byte* sums, int ranks);

}  // namespace tutti::nccl_standin
