/// @file
/// The CUDA driver, which is loaded at run time.
#pragma once

#include <cuda.h>

#include <string>

#include "library.hpp"

namespace tutti::v0::cuda {

[[nodiscard]] inline CUdeviceptr address_of(const void* data) noexcept {
  return reinterpret_cast<CUdeviceptr>(data);
}

/// The functions of the driver that tutti calls; see <cuda.h>.
struct DriverCalls {
  /// Throws Error{transport} if the library lacks one.
  explicit DriverCalls(const Library& library) : from{library} {}

  const Library& from;
  decltype(&::cuInit) init = from["cuInit"];
  decltype(&::cuDriverGetVersion) driver_version = from["cuDriverGetVersion"];
  decltype(&::cuGetErrorName) error_name = from["cuGetErrorName"];
  decltype(&::cuGetErrorString) error_string = from["cuGetErrorString"];
  decltype(&::cuDeviceGetCount) device_count = from["cuDeviceGetCount"];
  decltype(&::cuDeviceGet) device = from["cuDeviceGet"];
  decltype(&::cuDeviceGetName) device_name = from["cuDeviceGetName"];
  decltype(&::cuDeviceGetUuid) device_uuid = from["cuDeviceGetUuid_v2"];
  decltype(&::cuDeviceTotalMem) device_memory = from["cuDeviceTotalMem_v2"];
  decltype(&::cuDeviceGetAttribute) device_attribute = from["cuDeviceGetAttribute"];
  decltype(&::cuDevicePrimaryCtxRetain) retain_context = from["cuDevicePrimaryCtxRetain"];
  decltype(&::cuDevicePrimaryCtxRelease) release_context = from["cuDevicePrimaryCtxRelease_v2"];
  decltype(&::cuCtxGetCurrent) current_context = from["cuCtxGetCurrent"];
  decltype(&::cuCtxSetCurrent) set_context = from["cuCtxSetCurrent"];
  decltype(&::cuCtxGetDevice) current_device = from["cuCtxGetDevice"];
  decltype(&::cuMemPoolCreate) create_pool = from["cuMemPoolCreate"];
  decltype(&::cuMemPoolSetAttribute) set_pool = from["cuMemPoolSetAttribute"];
  decltype(&::cuMemPoolTrimTo) trim_pool = from["cuMemPoolTrimTo"];
  decltype(&::cuMemPoolSetAccess) share_pool = from["cuMemPoolSetAccess"];
  decltype(&::cuMemPoolDestroy) destroy_pool = from["cuMemPoolDestroy"];
  decltype(&::cuMemAllocFromPoolAsync) allocate = from["cuMemAllocFromPoolAsync"];
  decltype(&::cuMemFreeAsync) free = from["cuMemFreeAsync"];
  decltype(&::cuMemcpyAsync) copy = from["cuMemcpyAsync"];
  decltype(&::cuMemsetD8Async) fill = from["cuMemsetD8Async"];
  decltype(&::cuStreamCreate) create_stream = from["cuStreamCreate"];
  decltype(&::cuStreamCreateWithPriority) create_prior_stream = from["cuStreamCreateWithPriority"];
  decltype(&::cuCtxGetStreamPriorityRange) priorities = from["cuCtxGetStreamPriorityRange"];
  decltype(&::cuStreamDestroy) destroy_stream = from["cuStreamDestroy_v2"];
  decltype(&::cuStreamGetCtx) stream_context = from["cuStreamGetCtx"];
  decltype(&::cuStreamQuery) query = from["cuStreamQuery"];
  decltype(&::cuStreamSynchronize) synchronize = from["cuStreamSynchronize"];
  decltype(&::cuModuleLoadData) load_module = from["cuModuleLoadData"];
  decltype(&::cuModuleUnload) unload_module = from["cuModuleUnload"];
  decltype(&::cuModuleGetFunction) function = from["cuModuleGetFunction"];
  decltype(&::cuOccupancyMaxActiveBlocksPerMultiprocessor) occupancy =
      from["cuOccupancyMaxActiveBlocksPerMultiprocessor"];
  decltype(&::cuLaunchKernel) launch = from["cuLaunchKernel"];
  decltype(&::cuPointerGetAttributes) pointer_attributes = from["cuPointerGetAttributes"];
  decltype(&::cuStreamIsCapturing) capturing = from["cuStreamIsCapturing"];
  decltype(&::cuStreamWaitEvent) wait_event = from["cuStreamWaitEvent"];
  decltype(&::cuStreamWriteValue64) write_64 = from["cuStreamWriteValue64_v2"];
  decltype(&::cuMemHostAlloc) allocate_pinned = from["cuMemHostAlloc"];
  decltype(&::cuMemFreeHost) free_pinned = from["cuMemFreeHost"];
  decltype(&::cuMemHostGetDevicePointer) pinned_address = from["cuMemHostGetDevicePointer_v2"];
  decltype(&::cuThreadExchangeStreamCaptureMode) exchange_capture_mode =
      from["cuThreadExchangeStreamCaptureMode"];
  decltype(&::cuEventCreate) create_event = from["cuEventCreate"];
  decltype(&::cuEventDestroy) destroy_event = from["cuEventDestroy_v2"];
  decltype(&::cuEventRecord) record_event = from["cuEventRecord"];
  decltype(&::cuEventQuery) query_event = from["cuEventQuery"];
  decltype(&::cuEventElapsedTime) elapsed =
      from.newest("cuEventElapsedTime_v2", "cuEventElapsedTime");  // 12.8
  decltype(&::cuStreamBeginCapture) begin_capture = from["cuStreamBeginCapture_v2"];
  decltype(&::cuStreamEndCapture) end_capture = from["cuStreamEndCapture"];
  CUresult (*make_executable)(CUgraphExec* executable, CUgraph graph,
                              unsigned long long flags) = from["cuGraphInstantiateWithFlags"];
  decltype(&::cuGraphLaunch) launch_graph = from["cuGraphLaunch"];
  decltype(&::cuGraphExecDestroy) destroy_executable = from["cuGraphExecDestroy"];
  decltype(&::cuGraphDestroy) destroy_graph = from["cuGraphDestroy"];
  decltype(&::cuMemAlloc) allocate_now = from["cuMemAlloc_v2"];
  decltype(&::cuMemFree) free_now = from["cuMemFree_v2"];
  decltype(&::cuStreamWaitValue64) wait_64 = from["cuStreamWaitValue64_v2"];
  decltype(&::cuIpcGetMemHandle) ipc_get = from["cuIpcGetMemHandle"];
  decltype(&::cuIpcOpenMemHandle) ipc_open = from["cuIpcOpenMemHandle_v2"];
  decltype(&::cuIpcCloseMemHandle) ipc_close = from["cuIpcCloseMemHandle"];
  decltype(&::cuDeviceCanAccessPeer) can_access_peer = from["cuDeviceCanAccessPeer"];
  decltype(&::cuCtxEnablePeerAccess) enable_peer_access = from["cuCtxEnablePeerAccess"];
  decltype(&::cuDeviceGetP2PAttribute) peer_attribute = from["cuDeviceGetP2PAttribute"];
};

/// The driver of this machine. Thread-safe.
class Driver {
 public:
  /// Loads and initialises it. Throws Error{transport} that names what is missing: the driver, a
  /// newer one, or a GPU.
  Driver();

  [[nodiscard]] const DriverCalls& calls() const noexcept { return calls_; }
  /// Throws Error{transport} with the driver's message unless a call succeeded. @param what the
  /// text of the error, after "cannot".
  void check(CUresult result, const char* what) const;
  /// @return its version, such as "13.0".
  [[nodiscard]] std::string version() const;
  /// @return the number of GPUs.
  [[nodiscard]] int devices() const;
  /// @return the ordinal `wanted`; if that is negative, the GPU of the current context, or else the
  /// only GPU. Throws Error{invalid_argument} if there is no single candidate; Error{transport}.
  [[nodiscard]] int choose(int wanted) const;
  /// @param ordinal in [0, devices()). Throws Error{transport}.
  [[nodiscard]] CUdevice device(int ordinal) const;
  /// @return its name, such as "NVIDIA H100 80GB HBM3".
  [[nodiscard]] std::string name_of(CUdevice device) const;
  [[nodiscard]] int attribute(CUdevice_attribute attribute, CUdevice device) const;

 private:
  Library library_{"libcuda.so.1"};
  DriverCalls calls_{library_};
};

}  // namespace tutti::v0::cuda
