#include "operation.hpp"

#include <limits>

#include "datatypes.hpp"
#include "failure.hpp"

namespace tutti::nccl_standin {

bool reduces(Kind kind) {
  return kind == Kind::all_reduce || kind == Kind::reduce || kind == Kind::reduce_scatter;
}

std::size_t bytes_of(const Operation& operation) {
  return operation.count * size_of(operation.datatype);
}

std::size_t bytes_read(const Operation& operation, const Membership& membership) {
  const std::size_t bytes = bytes_of(operation);
  const std::size_t all = bytes * static_cast<std::size_t>(membership.size);
  switch (operation.kind) {
    case Kind::receive: return 0;
    case Kind::broadcast: return operation.peer == membership.rank ? bytes : 0;
    case Kind::reduce_scatter:
    case Kind::all_to_all: return all;
    case Kind::scatter: return operation.peer == membership.rank ? all : 0;
    default: return bytes;
  }
}

std::size_t bytes_written(const Operation& operation, const Membership& membership) {
  const std::size_t bytes = bytes_of(operation);
  const std::size_t all = bytes * static_cast<std::size_t>(membership.size);
  switch (operation.kind) {
    case Kind::send: return 0;
    case Kind::reduce: return operation.peer == membership.rank ? bytes : 0;
    case Kind::all_gather:
    case Kind::all_to_all: return all;
    case Kind::gather: return operation.peer == membership.rank ? all : 0;
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
  require(operation.kind != Kind::all_to_all || operation.from != operation.into ||
              operation.count == 0,
          ncclInvalidArgument, "ncclAlltoAll may not be in place");
}

}  // namespace tutti::nccl_standin
