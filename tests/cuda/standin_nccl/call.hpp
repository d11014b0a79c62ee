/// @file
/// The common begin and end of every function of NCCL.
#pragma once

#include <new>
#include <string_view>

#include "failure.hpp"
#include "library.hpp"

namespace tutti::nccl_standin {

/// The reason for the last failure of a call in this thread.
const char* last_reason() noexcept;
void remember_reason(const char* reason) noexcept;

/// @param body does something. @return what it returns, or what its exception means.
template <class Body>
ncclResult_t guard(Body body) noexcept {
  try {
    return body();
  } catch (const Failure& failure) {
    remember_reason(failure.what());
    return failure.result();
  } catch (const std::bad_alloc&) {
    remember_reason("there is no more memory");
    return ncclSystemError;
  } catch (...) {
    remember_reason("the stand-in has failed");
    return ncclInternalError;
  }
}

/// Throws Failure if this call of a function is to fail.
inline void count(std::string_view function) {
  require(!library().calls.count(function), ncclSystemError,
          "CUDA_STANDIN_FAULT makes this call fail");
}

/// A call. @param function its name. @param body does it.
template <class Body>
ncclResult_t call(std::string_view function, Body body) noexcept {
  return guard([&] {
    count(function);
    return body();
  });
}

/// A call about a communicator. @param body does it, given the communicator.
template <class Body>
ncclResult_t call_on(std::string_view function, ncclComm_t handle, Body body) noexcept {
  return call(function, [&] { return body(library().communicators.find(handle)); });
}

/// The same where a context has to be current.
template <class Body>
ncclResult_t call_in_context(std::string_view function, ncclComm_t handle, Body body) noexcept {
  return call_on(function, handle, [&](const auto& communicator) {
    require_context();
    return body(communicator);
  });
}

/// @return a stream of the runtime as one of the driver, which it is.
inline CUstream stream_of(cudaStream_t stream) noexcept {
  return stream;
}

}  // namespace tutti::nccl_standin
