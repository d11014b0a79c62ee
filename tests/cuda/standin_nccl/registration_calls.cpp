// NCCL's functions that register memory and operators.
#include <cstring>

#include "call.hpp"
#include "group.hpp"

using namespace tutti::nccl_standin;

namespace {

// Throws Failure if no window can be there.
void require_window(void* buffer, std::size_t bytes, int flags) {
  require(buffer != nullptr && bytes > 0, ncclInvalidArgument, "there is nothing to register");
  require((flags & ~NCCL_WIN_COLL_SYMMETRIC) == 0, ncclInvalidArgument, "there is no such flag");
  require(reinterpret_cast<std::uintptr_t>(buffer) % NCCL_WIN_REQUIRED_ALIGNMENT == 0,
          ncclInvalidArgument, "the window does not begin at a page");
  require(reach(buffer, bytes) != buffer, ncclInvalidArgument,
          "the window is not in memory of a device");
}

Scale scale_of(const void* scalar, ncclDataType_t datatype, ncclScalarResidence_t residence) {
  Scale scale{.exists = true, .value = {}};
  if (residence == ncclScalarDevice) scale.place = scalar;
  else std::memcpy(scale.value.data(), scalar, size_of(datatype));
  return scale;
}

}  // namespace

ncclResult_t ncclCommRegister(const ncclComm_t handle, void* buffer, size_t bytes,
                              void** registration) {
  return call_in_context(__func__, handle, [&](const auto& communicator) {
    require(buffer != nullptr && bytes > 0 && registration != nullptr, ncclInvalidArgument,
            "there is nothing to register");
    const auto call = communicator->enter();
    *registration = communicator->registrations().add(buffer, bytes);
    ++library().registrations;
    return ncclSuccess;
  });
}

ncclResult_t ncclCommDeregister(const ncclComm_t handle, void* registration) {
  return call_in_context(__func__, handle, [&](const auto& communicator) {
    if (registration == nullptr) return ncclSuccess;
    const auto call = communicator->enter();
    require(communicator->registrations().remove(registration), ncclInvalidArgument,
            "there is no such registration");
    --library().registrations;
    return ncclSuccess;
  });
}

// All ranks take part, and the handle is there when they all have, as of NCCL. As of NCCL, success
// does not say that they have: of a communicator that does not block only its state does.
ncclResult_t ncclCommWindowRegister(ncclComm_t handle, void* buffer, size_t bytes,
                                    ncclWindow_t* window, int flags) {
  const ncclResult_t result = call_in_context(__func__, handle, [&](const auto& communicator) {
    require(window != nullptr, ncclInvalidArgument, "the window is null");
    *window = nullptr;
    require_window(buffer, bytes, flags);
    if (setting("SYMMETRIC") == "0") return ncclSuccess;
    communicator->require_ready();
    const auto call = communicator->enter();
    const auto add = [window, buffer, bytes, &windows = communicator->windows()] {
      *window = static_cast<ncclWindow_t>(windows.add(buffer, bytes));
      ++library().windows;
    };
    communicator->register_window(bytes, add);
    group().start();
    group().add(communicator);
    return group().end();
  });
  group().note(result);
  return result == ncclInProgress ? ncclSuccess : result;
}

ncclResult_t ncclCommWindowDeregister(ncclComm_t handle, ncclWindow_t window) {
  return call_in_context(__func__, handle, [&](const auto& communicator) {
    if (window == nullptr) return ncclSuccess;
    const auto call = communicator->enter();
    require(communicator->windows().remove(window), ncclInvalidArgument, "there is no such window");
    --library().windows;
    return ncclSuccess;
  });
}

ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t* op, void* scalar, ncclDataType_t datatype,
                                      ncclScalarResidence_t residence, ncclComm_t handle) {
  return call_on(__func__, handle, [&](const auto& communicator) {
    require(op != nullptr && scalar != nullptr, ncclInvalidArgument,
            "the operator or the scalar is null");
    require(size_of(datatype) != 0, ncclInvalidArgument, "there is no such datatype");
    require(residence == ncclScalarDevice || residence == ncclScalarHostImmediate,
            ncclInvalidArgument, "there is no such residence");
    *op = communicator->operators().add(datatype, scale_of(scalar, datatype, residence));
    ++library().operators;
    return ncclSuccess;
  });
}

ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t handle) {
  return call_on(__func__, handle, [&](const auto& communicator) {
    communicator->operators().remove(op);
    --library().operators;
    return ncclSuccess;
  });
}
