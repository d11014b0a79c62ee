/// @file
/// The operators that a communicator has beside those that all have.
#pragma once

#include <map>
#include <mutex>

#include <nccl.h>

#include "datatypes.hpp"

namespace tutti::nccl_standin {

struct Operation;

class Operators {
 public:
  /// @param scale is multiplied with each operand before these are summed.
  ncclRedOp_t add(ncclDataType_t datatype, const Scale& scale);
  /// Throws Failure if there is no such operator.
  void remove(ncclRedOp_t op);
  /// @return what an operation multiplies operands with. Throws Failure if its operator is one of
  /// another datatype, or none.
  Scale scale_of(const Operation& operation) const;

 private:
  struct Operator {
    ncclDataType_t datatype{};
    Scale scale;
  };

  mutable std::mutex mutex_;
  int next_ = ncclNumOps;
  std::map<int, Operator> by_number_;
};

}  // namespace tutti::nccl_standin
