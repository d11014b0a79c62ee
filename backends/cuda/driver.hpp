/// @file
/// The CUDA driver, which is loaded at run time.
#pragma once

#include <cuda.h>

#include <memory>
#include <string>

#include "library.hpp"

namespace tutti::v0::cuda {

/// @param data any. @return its address, as the driver has it.
[[nodiscard]] inline CUdeviceptr address_of(const void* data) noexcept {
  return reinterpret_cast<CUdeviceptr>(data);
}

/// Functions of the driver that are called here; see <cuda.h>.
struct DriverCalls {
  decltype(&::cuInit) init = nullptr;
  decltype(&::cuDriverGetVersion) driver_version = nullptr;
  decltype(&::cuGetErrorName) error_name = nullptr;
  decltype(&::cuGetErrorString) error_string = nullptr;
  decltype(&::cuDeviceGetCount) device_count = nullptr;
  decltype(&::cuDeviceGet) device = nullptr;
  decltype(&::cuDeviceGetName) device_name = nullptr;
  decltype(&::cuDeviceGetUuid) device_uuid = nullptr;
  decltype(&::cuDeviceTotalMem) device_memory = nullptr;
  decltype(&::cuDeviceGetAttribute) device_attribute = nullptr;
  decltype(&::cuDevicePrimaryCtxRetain) retain_context = nullptr;
  decltype(&::cuDevicePrimaryCtxRelease) release_context = nullptr;
  decltype(&::cuCtxGetCurrent) current_context = nullptr;
  decltype(&::cuCtxSetCurrent) set_context = nullptr;
  decltype(&::cuCtxGetDevice) current_device = nullptr;
  decltype(&::cuMemPoolCreate) create_pool = nullptr;
  decltype(&::cuMemPoolSetAttribute) set_pool = nullptr;
  decltype(&::cuMemPoolDestroy) destroy_pool = nullptr;
  decltype(&::cuMemAllocFromPoolAsync) allocate = nullptr;
  decltype(&::cuMemFreeAsync) free = nullptr;
  decltype(&::cuMemcpyAsync) copy = nullptr;
  decltype(&::cuMemsetD8Async) fill = nullptr;
  decltype(&::cuStreamCreate) create_stream = nullptr;
  decltype(&::cuStreamCreateWithPriority) create_prior_stream = nullptr;
  decltype(&::cuCtxGetStreamPriorityRange) priorities = nullptr;
  decltype(&::cuStreamDestroy) destroy_stream = nullptr;
  decltype(&::cuStreamGetCtx) stream_context = nullptr;
  decltype(&::cuStreamQuery) query = nullptr;
  decltype(&::cuStreamSynchronize) synchronize = nullptr;
  decltype(&::cuModuleLoadData) load_module = nullptr;
  decltype(&::cuModuleUnload) unload_module = nullptr;
  decltype(&::cuModuleGetFunction) function = nullptr;
  decltype(&::cuLaunchKernel) launch = nullptr;
  decltype(&::cuPointerGetAttributes) pointer_attributes = nullptr;
  decltype(&::cuStreamIsCapturing) capturing = nullptr;
  decltype(&::cuStreamWaitEvent) wait_event = nullptr;
  decltype(&::cuStreamWriteValue64) write_64 = nullptr;
  decltype(&::cuMemHostAlloc) allocate_pinned = nullptr;
  decltype(&::cuMemFreeHost) free_pinned = nullptr;
  decltype(&::cuMemHostGetDevicePointer) pinned_address = nullptr;
  decltype(&::cuThreadExchangeStreamCaptureMode) exchange_capture_mode = nullptr;
  decltype(&::cuEventCreate) create_event = nullptr;
  decltype(&::cuEventDestroy) destroy_event = nullptr;
  decltype(&::cuEventRecord) record_event = nullptr;
  decltype(&::cuEventQuery) query_event = nullptr;
  decltype(&::cuEventElapsedTime) elapsed = nullptr;
  decltype(&::cuStreamBeginCapture) begin_capture = nullptr;
  decltype(&::cuStreamEndCapture) end_capture = nullptr;
  CUresult (*make_executable)(CUgraphExec* executable, CUgraph graph,
                              unsigned long long flags) = nullptr;  ///< cuGraphInstantiateWithFlags
  decltype(&::cuGraphLaunch) launch_graph = nullptr;
  decltype(&::cuGraphExecDestroy) destroy_executable = nullptr;
  decltype(&::cuGraphDestroy) destroy_graph = nullptr;
  decltype(&::cuMemAlloc) allocate_now = nullptr;
  decltype(&::cuMemFree) free_now = nullptr;
  decltype(&::cuStreamWaitValue64) wait_64 = nullptr;
  decltype(&::cuIpcGetMemHandle) ipc_get = nullptr;
  decltype(&::cuIpcOpenMemHandle) ipc_open = nullptr;
  decltype(&::cuIpcCloseMemHandle) ipc_close = nullptr;
  decltype(&::cuDeviceCanAccessPeer) can_access_peer = nullptr;
  decltype(&::cuCtxEnablePeerAccess) enable_peer_access = nullptr;
  decltype(&::cuDeviceGetP2PAttribute) peer_attribute = nullptr;
  decltype(&::cuFlushGPUDirectRDMAWrites) flush_remote = nullptr;
};

/// The driver of this machine, ready to be called. Any thread may.
class Driver {
 public:
  /// Loads and starts it. Throws Error{transport} that says what is missing: the driver, a newer
  /// one, or a GPU.
  Driver();

  /// @return its functions.
  [[nodiscard]] const DriverCalls& calls() const noexcept { return calls_; }
  /// @param result of a call. @param what was to be done, after "cannot". Throws Error{transport}
  /// with the driver's own words where it failed.
  void check(CUresult result, const char* what) const;
  /// @return its version, such as "13.0".
  [[nodiscard]] std::string version() const;
  /// @return how many GPUs it knows.
  [[nodiscard]] int devices() const;

 private:
  Library library_{"libcuda.so.1"};
  DriverCalls calls_{};
};

}  // namespace tutti::v0::cuda
