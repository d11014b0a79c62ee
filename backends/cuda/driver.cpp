#include "driver.hpp"

#include <tutti/error.hpp>

namespace tutti::v0::cuda {

Driver::Driver() {
  library_.find("cuInit", calls_.init);
  library_.find("cuDriverGetVersion", calls_.driver_version);
  library_.find("cuGetErrorName", calls_.error_name);
  library_.find("cuGetErrorString", calls_.error_string);
  library_.find("cuDeviceGetCount", calls_.device_count);
  library_.find("cuDeviceGet", calls_.device);
  library_.find("cuDeviceGetName", calls_.device_name);
  library_.find("cuDeviceGetUuid_v2", calls_.device_uuid);
  library_.find("cuDeviceTotalMem_v2", calls_.device_memory);
  library_.find("cuDeviceGetAttribute", calls_.device_attribute);
  library_.find("cuDevicePrimaryCtxRetain", calls_.retain_context);
  library_.find("cuDevicePrimaryCtxRelease_v2", calls_.release_context);
  library_.find("cuCtxGetCurrent", calls_.current_context);
  library_.find("cuCtxSetCurrent", calls_.set_context);
  library_.find("cuCtxGetDevice", calls_.current_device);
  library_.find("cuMemPoolCreate", calls_.create_pool);
  library_.find("cuMemPoolSetAttribute", calls_.set_pool);
  library_.find("cuMemPoolDestroy", calls_.destroy_pool);
  library_.find("cuMemAllocFromPoolAsync", calls_.allocate);
  library_.find("cuMemFreeAsync", calls_.free);
  library_.find("cuMemcpyAsync", calls_.copy);
  library_.find("cuMemsetD8Async", calls_.fill);
  library_.find("cuStreamCreate", calls_.create_stream);
  library_.find("cuStreamCreateWithPriority", calls_.create_prior_stream);
  library_.find("cuCtxGetStreamPriorityRange", calls_.priorities);
  library_.find("cuStreamDestroy_v2", calls_.destroy_stream);
  library_.find("cuStreamGetCtx", calls_.stream_context);
  library_.find("cuStreamQuery", calls_.query);
  library_.find("cuStreamSynchronize", calls_.synchronize);
  library_.find("cuModuleLoadData", calls_.load_module);
  library_.find("cuModuleUnload", calls_.unload_module);
  library_.find("cuModuleGetFunction", calls_.function);
  library_.find("cuLaunchKernel", calls_.launch);
  library_.find("cuPointerGetAttributes", calls_.pointer_attributes);
  library_.find("cuStreamIsCapturing", calls_.capturing);
  library_.find("cuStreamWaitEvent", calls_.wait_event);
  library_.find("cuStreamWriteValue64_v2", calls_.write_64);
  library_.find("cuMemHostAlloc", calls_.allocate_pinned);
  library_.find("cuMemFreeHost", calls_.free_pinned);
  library_.find("cuMemHostGetDevicePointer_v2", calls_.pinned_address);
  library_.find("cuThreadExchangeStreamCaptureMode", calls_.exchange_capture_mode);
  library_.find("cuEventCreate", calls_.create_event);
  library_.find("cuEventDestroy_v2", calls_.destroy_event);
  library_.find("cuEventRecord", calls_.record_event);
  library_.find("cuEventQuery", calls_.query_event);
  if (!library_.find_newer("cuEventElapsedTime_v2", calls_.elapsed))  // 12.8
    library_.find("cuEventElapsedTime", calls_.elapsed);
  library_.find("cuStreamBeginCapture_v2", calls_.begin_capture);
  library_.find("cuStreamEndCapture", calls_.end_capture);
  library_.find("cuGraphInstantiateWithFlags", calls_.make_executable);
  library_.find("cuGraphLaunch", calls_.launch_graph);
  library_.find("cuGraphExecDestroy", calls_.destroy_executable);
  library_.find("cuGraphDestroy", calls_.destroy_graph);
  library_.find("cuMemAlloc_v2", calls_.allocate_now);
  library_.find("cuMemFree_v2", calls_.free_now);
  library_.find("cuStreamWaitValue64_v2", calls_.wait_64);
  library_.find("cuIpcGetMemHandle", calls_.ipc_get);
  library_.find("cuIpcOpenMemHandle_v2", calls_.ipc_open);
  library_.find("cuIpcCloseMemHandle", calls_.ipc_close);
  library_.find("cuDeviceCanAccessPeer", calls_.can_access_peer);
  library_.find("cuCtxEnablePeerAccess", calls_.enable_peer_access);
  library_.find("cuDeviceGetP2PAttribute", calls_.peer_attribute);
  library_.find("cuFlushGPUDirectRDMAWrites", calls_.flush_remote);
  check(calls_.init(0), "start the CUDA driver");
}

void Driver::check(CUresult result, const char* what) const {
  if (result == CUDA_SUCCESS) return;
  const char* name = nullptr;
  const char* words = nullptr;
  calls_.error_name(result, &name);
  calls_.error_string(result, &words);
  std::string text = std::string{"cannot "} + what + ": ";
  text += name == nullptr ? "error " + std::to_string(result) : name;
  if (words != nullptr) text += std::string{", "} + words;
  throw Error{ErrorCode::transport, text};
}

std::string Driver::version() const {
  int version = 0;
  check(calls_.driver_version(&version), "ask the CUDA driver for its version");
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

int Driver::devices() const {
  int count = 0;
  check(calls_.device_count(&count), "count GPUs");
  return count;
}

}  // namespace tutti::v0::cuda
