// NCCL's functions that send, receive and reduce, and of groups.
#include "call.hpp"
#include "group.hpp"

using namespace tutti::nccl_standin;

namespace {

/// An operation by itself is a group of its own.
ncclResult_t call_operation(std::string_view function, ncclComm_t handle, cudaStream_t stream,
                            Operation operation) noexcept {
  const ncclResult_t result = call_on(function, handle, [&](const auto& communicator) {
    communicator->require_ready();
    check(operation, communicator->membership());
    group().start();
    try {
      group().add(communicator, operation, stream_of(stream));
    } catch (const Failure& failure) {
      group().note(failure.result());
      group().end();
      throw;
    }
    return group().end();
  });
  group().note(result);
  return result;
}

}  // namespace

ncclResult_t ncclGroupStart() {
  return call(__func__, [] {
    group().start();
    return ncclSuccess;
  });
}

ncclResult_t ncclGroupEnd() {
  const ncclResult_t counted = call(__func__, [] { return ncclSuccess; });
  group().note(counted);
  const ncclResult_t ended = guard([] { return group().end(); });
  return counted == ncclSuccess ? ended : counted;
}

ncclResult_t ncclSend(const void* from, size_t count, ncclDataType_t datatype, int peer,
                      ncclComm_t communicator, cudaStream_t stream) {
  return call_operation(__func__, communicator, stream,
                        {.kind = OperationType::send,
                         .from = from,
                         .count = count,
                         .datatype = datatype,
                         .peer = peer});
}

ncclResult_t ncclRecv(void* into, size_t count, ncclDataType_t datatype, int peer,
                      ncclComm_t communicator, cudaStream_t stream) {
  return call_operation(__func__, communicator, stream,
                        {.kind = OperationType::receive,
                         .into = into,
                         .count = count,
                         .datatype = datatype,
                         .peer = peer});
}

ncclResult_t ncclAllReduce(const void* from, void* into, size_t count, ncclDataType_t datatype,
                           ncclRedOp_t op, ncclComm_t communicator, cudaStream_t stream) {
  return call_operation(__func__, communicator, stream,
                        {.kind = OperationType::all_reduce,
                         .from = from,
                         .into = into,
                         .count = count,
                         .datatype = datatype,
                         .op = op});
}

ncclResult_t ncclBroadcast(const void* from, void* into, size_t count, ncclDataType_t datatype,
                           int root, ncclComm_t communicator, cudaStream_t stream) {
  return call_operation(__func__, communicator, stream,
                        {.kind = OperationType::broadcast,
                         .from = from,
                         .into = into,
                         .count = count,
                         .datatype = datatype,
                         .peer = root});
}

ncclResult_t ncclReduce(const void* from, void* into, size_t count, ncclDataType_t datatype,
                        ncclRedOp_t op, int root, ncclComm_t communicator, cudaStream_t stream) {
  return call_operation(__func__, communicator, stream,
                        {.kind = OperationType::reduce,
                         .from = from,
                         .into = into,
                         .count = count,
                         .datatype = datatype,
                         .op = op,
                         .peer = root});
}

ncclResult_t ncclAllGather(const void* from, void* into, size_t count, ncclDataType_t datatype,
                           ncclComm_t communicator, cudaStream_t stream) {
  return call_operation(__func__, communicator, stream,
                        {.kind = OperationType::all_gather,
                         .from = from,
                         .into = into,
                         .count = count,
                         .datatype = datatype});
}

ncclResult_t ncclReduceScatter(const void* from, void* into, size_t count, ncclDataType_t datatype,
                               ncclRedOp_t op, ncclComm_t communicator, cudaStream_t stream) {
  return call_operation(__func__, communicator, stream,
                        {.kind = OperationType::reduce_scatter,
                         .from = from,
                         .into = into,
                         .count = count,
                         .datatype = datatype,
                         .op = op});
}

ncclResult_t ncclAlltoAll(const void* from, void* into, size_t count, ncclDataType_t datatype,
                          ncclComm_t communicator, cudaStream_t stream) {
  return call_operation(__func__, communicator, stream,
                        {.kind = OperationType::all_to_all,
                         .from = from,
                         .into = into,
                         .count = count,
                         .datatype = datatype});
}

ncclResult_t ncclGather(const void* from, void* into, size_t count, ncclDataType_t datatype,
                        int root, ncclComm_t communicator, cudaStream_t stream) {
  return call_operation(__func__, communicator, stream,
                        {.kind = OperationType::gather,
                         .from = from,
                         .into = into,
                         .count = count,
                         .datatype = datatype,
                         .peer = root});
}

ncclResult_t ncclScatter(const void* from, void* into, size_t count, ncclDataType_t datatype,
                         int root, ncclComm_t communicator, cudaStream_t stream) {
  return call_operation(__func__, communicator, stream,
                        {.kind = OperationType::scatter,
                         .from = from,
                         .into = into,
                         .count = count,
                         .datatype = datatype,
                         .peer = root});
}
