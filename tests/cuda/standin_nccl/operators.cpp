#include "operators.hpp"

#include "failure.hpp"
#include "operation.hpp"

namespace tutti::nccl_standin {

ncclRedOp_t Operators::add(ncclDataType_t datatype, const Scale& scale) {
  const std::scoped_lock lock{mutex_};
  by_number_.emplace(next_, Operator{.datatype = datatype, .scale = scale});
  return static_cast<ncclRedOp_t>(next_++);
}

void Operators::remove(ncclRedOp_t op) {
  const std::scoped_lock lock{mutex_};
  require(by_number_.erase(op) > 0, ncclInvalidArgument, "there is no such operator");
}

Scale Operators::scale_of(const Operation& operation) const {
  if (is_operator(operation.op)) return {};
  const std::scoped_lock lock{mutex_};
  const auto found = by_number_.find(operation.op);
  require(found != by_number_.end(), ncclInvalidArgument, "there is no such operator");
  require(found->second.datatype == operation.datatype, ncclInvalidArgument,
          "the operator is for another datatype");
  return found->second.scale;
}

}  // namespace tutti::nccl_standin
