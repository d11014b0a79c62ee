/// @file
/// What the stand-in for NCCL needs of this one beside the driver's functions. None of it is
/// counted.
#pragma once

#include <cuda.h>

namespace tutti::standin {

/// Something that a graph does, and has to be told of each launch.
struct Recording {
  void* what = nullptr;
  void* (*prepare)(void* what) = nullptr;  ///< Called by each launch, in its thread.
  void (*run)(void* prepared) = nullptr;   ///< A host function, given what prepare returned.
  void (*forget)(void* what) = nullptr;    ///< Called once, when no launch can follow.
};

}  // namespace tutti::standin

extern "C" {

/// @return where the host may access what lies at a device's address, or null if nothing does;
/// other addresses stay as they are. It may be called by any thread, also in a host function.
__attribute__((visibility("default"))) void* tutti_standin_alias(void* address);

/// Writes to memory of a device, as a network adapter does by GPUDirect RDMA. @param data which is
/// there until this returns.
__attribute__((visibility("default"))) void tutti_standin_receive(CUdeviceptr to, const void* data,
                                                                  size_t bytes);

/// @return what a context has failed with, or success.
__attribute__((visibility("default"))) CUresult tutti_standin_state(CUcontext context);

/// Records something in a stream that records. If that fails, it has been forgotten.
__attribute__((visibility("default"))) CUresult tutti_standin_record(
    CUstream stream, tutti::standin::Recording recording);
}
