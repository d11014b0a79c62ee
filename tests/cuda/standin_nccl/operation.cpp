#include "operation.hpp"

#include <limits>

#include "datatypes.hpp"
#include "failure.hpp"

namespace tutti::nccl_standin {

bool reduces(OperationType kind) {
  return kind == OperationType::all_reduce || kind == OperationType::reduce ||
         kind == OperationType::reduce_scatter;
}

std::size_t bytes_of(const Operation& operation) {
  return operation.count * size_of(operation.datatype);
}

std::size_t bytes_read(const Operation& operation, const Membership& membership) {
  const std::size_t bytes = bytes_of(operation);
  const std::size_t all = bytes * static_cast<std::size_t>(membership.size);
  switch (operation.kind) {
    case OperationType::receive: return 0;
    case OperationType::broadcast: return operation.peer == membership.rank ? bytes : 0;
    case OperationType::reduce_scatter:
    case OperationType::all_to_all: return all;
    case OperationType::scatter: return operation.peer == membership.rank ? all : 0;
    default: return bytes;
  }
}

std::size_t bytes_written(const Operation& operation, const Membership& membership) {
  const std::size_t bytes = bytes_of(operation);
  const std::size_t all = bytes * static_cast<std::size_t>(membership.size);
  switch (operation.kind) {
    case OperationType::send: return 0;
    case OperationType::reduce: return operation.peer == membership.rank ? bytes : 0;
    case OperationType::all_gather:
    case OperationType::all_to_all: return all;
    case OperationType::gather: return operation.peer == membership.rank ? all : 0;
    default: return bytes;
  }
}

void check(const Operation& operation, const Membership& membership) {
  const std::size_t element = size_of(operation.datatype);
  require(element != 0, ncclInvalidArgument, "there is no such datatype");
  require(operation.peer >= 0 && operation.peer < membership.size, ncclInvalidArgument,
          "there is no such rank");
  require(!reduces(operation.kind) || is_operator(operation.op), ncclInvalidArgument,
          "there is no such operator");
  const std::size_t most = static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max()) /
                           element / static_cast<std::size_t>(membership.size);
  require(operation.count <= most, ncclInvalidArgument, "no memory has that number of elements");
  require(operation.from != nullptr || bytes_read(operation, membership) == 0, ncclInvalidArgument,
          "the buffer to send is null");
  require(operation.into != nullptr || bytes_written(operation, membership) == 0,
          ncclInvalidArgument, "the buffer to receive is null");
  require(operation.kind != OperationType::all_to_all || operation.from != operation.into ||
              operation.count == 0,
          ncclInvalidArgument, "ncclAlltoAll may not be in place");
}

}  // namespace tutti::nccl_standin
