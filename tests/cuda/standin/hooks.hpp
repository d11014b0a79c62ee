/// @file
/// Functions beside the driver's that the stand-in for NCCL and tests need. None of it
/// is counted.
#pragma once

#include <cuda.h>

namespace tutti::standin {

/// An operation of a graph that is notified of each launch.
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

/// @return what a context has failed with, or success.
__attribute__((visibility("default"))) CUresult tutti_standin_state(CUcontext context);

/// @return how many threads the last launch of a kernel had.
__attribute__((visibility("default"))) size_t tutti_standin_threads();
/// @return how often a function was called, such as "cuModuleLoadData".
__attribute__((visibility("default"))) size_t tutti_standin_calls(const char* function);

/// Kernels of others occupy all processors of a device, or do not: meanwhile kernels of programs
/// wait.
__attribute__((visibility("default"))) void tutti_standin_occupy(int device, bool all);

/// Records something in a stream that records. If that fails, it has been forgotten.
__attribute__((visibility("default"))) CUresult tutti_standin_record(
    CUstream stream, tutti::standin::Recording recording);
}
