// NCCL's functions that register memory.
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
