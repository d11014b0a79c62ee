// Preloaded, it spoils what NCCL gives the last rank of an all_reduce: always of f32, and of f64
// only where the call is captured in a graph. NCCL and the driver are loaded by name, so what tutti
// finds in them is replaced.
#include <cuda.h>
#include <dlfcn.h>
#include <nccl.h>

#include <cstdlib>
#include <string_view>

namespace {

using Find = void* (*)(void*, const char*);

Find honest_find() {
  // The symbols of new and old systems, on x86 and elsewhere.
  for (const char* const version : {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"})
    if (void* const found = dlvsym(RTLD_NEXT, "dlsym", version); found != nullptr)
      return reinterpret_cast<Find>(found);
  std::abort();
}

const Find kFind = honest_find();

template <class Function>
Function* function_of(const char* library, const char* name) {
  return reinterpret_cast<Function*>(kFind(dlopen(library, RTLD_NOW), name));
}

bool is_captured(CUstream stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  function_of<decltype(cuStreamIsCapturing)>("libcuda.so.1", "cuStreamIsCapturing")(stream,
                                                                                    &status);
  return status != CU_STREAM_CAPTURE_STATUS_NONE;
}

ncclResult_t lie(const void* in, void* out, std::size_t count, ncclDataType_t type, ncclRedOp_t op,
                 ncclComm_t communicator, cudaStream_t stream) {
  constexpr const char* kNccl = "libnccl.so.2";
  const ncclResult_t result = function_of<decltype(ncclAllReduce)>(kNccl, "ncclAllReduce")(
      in, out, count, type, op, communicator, stream);
  int rank = 0;
  int size = 0;
  function_of<decltype(ncclCommUserRank)>(kNccl, "ncclCommUserRank")(communicator, &rank);
  function_of<decltype(ncclCommCount)>(kNccl, "ncclCommCount")(communicator, &size);
  const bool spoils = type == ncclFloat32 || (type == ncclFloat64 && is_captured(stream));
  if (spoils && rank == size - 1)
    function_of<decltype(cuMemsetD8Async)>("libcuda.so.1", "cuMemsetD8Async")(
        reinterpret_cast<CUdeviceptr>(out), 0x11, type == ncclFloat32 ? 4 : 8, stream);
  return result;
}

}  // namespace

extern "C" void* dlsym(void* handle, const char* name) noexcept {
  void* const found = kFind(handle, name);
  const bool is_it = std::string_view{name} == "ncclAllReduce" && found != nullptr;
  return is_it ? reinterpret_cast<void*>(&lie) : found;
}
