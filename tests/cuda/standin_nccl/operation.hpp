/// @file
/// A call of NCCL that sends, receives or reduces, as it is enqueued.
#pragma once

#include <cstddef>

#include <nccl.h>

#include "datatypes.hpp"
#include "mesh.hpp"

namespace tutti::nccl_standin {

enum class OperationType {
  send,
  receive,
  all_reduce,
  broadcast,
  reduce,
  all_gather,
  reduce_scatter,
  all_to_all,
  gather,
  scatter
};

struct Operation {
  OperationType kind{};
  const void* from = nullptr;
  void* into = nullptr;
  std::size_t count = 0;  ///< As the function of NCCL takes it.
  ncclDataType_t datatype{};
  ncclRedOp_t op = ncclSum;
  int peer = 0;  ///< The other rank, or the root.
  Registered registered{};
};

/// @return whether an operation has an operator.
bool reduces(OperationType kind);

/// Throws Failure if no rank of such a communicator may call this.
void check(const Operation& operation, const Membership& membership);

/// @return the bytes of as many elements as the operation names.
std::size_t bytes_of(const Operation& operation);

/// @return the bytes at `from` that a rank reads; none if it ignores that buffer.
std::size_t bytes_read(const Operation& operation, const Membership& membership);
/// @return the bytes at `into` that a rank writes; none if it ignores that buffer.
std::size_t bytes_written(const Operation& operation, const Membership& membership);

/// Performs a collective. Throws Failure.
void perform_collective(const Operation& operation, Mesh& mesh);

}  // namespace tutti::nccl_standin
