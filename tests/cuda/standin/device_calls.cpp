// The driver's functions of devices and contexts.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <unistd.h>

#include "tests/cuda/standin/driver.hpp"
#include "tests/cuda/standin/hooks.hpp"

using namespace tutti::standin;

namespace {

constexpr int kMostDevices = 64;

int devices_wanted() {
  const std::string text = setting("DEVICES");
  return text.empty() ? 1 : std::min(std::atoi(text.c_str()), kMostDevices);
}

CUresult initialise(Driver& state) {
  const std::scoped_lock lock{state.starting};
  if (state.process == getpid()) return CUDA_SUCCESS;
  if (state.process != 0)
    return CUDA_ERROR_NOT_INITIALIZED;  // a child of the process that initialised it
  const int devices = devices_wanted();
  if (devices <= 0) return CUDA_ERROR_NO_DEVICE;
  state.memory.add_devices(devices);
  for (int device = 0; device < devices; ++device) state.contexts.emplace_back(device);
  state.process = getpid();
  return CUDA_SUCCESS;
}

// Attributes with a value but zero.
constexpr std::array kAttributes{
    std::pair{CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
    std::pair{CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024},
    std::pair{CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024},
    std::pair{CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64},
    std::pair{CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 0x7fffffff},
    std::pair{CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535},
    std::pair{CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535},
    std::pair{CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 48 << 10},
    std::pair{CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
    std::pair{CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 2},
    std::pair{CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048},
    std::pair{CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 32},
    std::pair{CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 2},
    std::pair{CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 1},
    std::pair{CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 1},
    std::pair{CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
    std::pair{CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 1},
    std::pair{CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1},
    std::pair{CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, 1},
    std::pair{CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR, 1},
    std::pair{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 9},
    std::pair{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0},
};

int value_of(CUdevice_attribute attribute, CUdevice device) {
  if (attribute == CU_DEVICE_ATTRIBUTE_PCI_BUS_ID) return device + 1;
  const std::string& lacks = driver().lacks;
  if ((attribute == CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED && lacks == "pools") ||
      (attribute == CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS && lacks == "memops"))
    return 0;
  for (const auto& [known, value] : kAttributes)
    if (known == attribute) return value;
  return 0;
}

// Cut to what there is room for, as the driver does.
CUresult give_text(const std::string& text, char* to, int room) {
  if (to == nullptr || room <= 0) return CUDA_ERROR_INVALID_VALUE;
  std::snprintf(to, static_cast<std::size_t>(room), "%s", text.c_str());
  return CUDA_SUCCESS;
}

/// A call about a device. @param result what it writes to, which may not be null.
template <class Body>
CUresult call_of_device(std::string_view function, CUdevice device, const void* result,
                        Body body) noexcept {
  return call(Needs::initialisation, function, [&] {
    if (result == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return driver().has_device(device) ? body() : CUDA_ERROR_INVALID_DEVICE;
  });
}

}  // namespace

CUresult cuInit(unsigned int flags) {
  return call(Needs::nothing, __func__, [&] {
    if (driver().ended) return CUDA_ERROR_DEINITIALIZED;
    return flags == 0 ? initialise(driver()) : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuDriverGetVersion(int* version) {
  return call(Needs::nothing, __func__, [&] {
    if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *version = 13000;
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetCount(int* count) {
  return call(Needs::initialisation, __func__, [&] {
    if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *count = static_cast<int>(driver().contexts.size());
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  return call_of_device(__func__, ordinal, device, [&] {
    *device = ordinal;
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  return call_of_device(__func__, device, name, [&] {
    return give_text("stand-in " + std::to_string(device), name, length);
  });
}

CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  return call_of_device(__func__, device, uuid, [&] {
    constexpr char kPrefix[] = "tutti stand-in ";
    static_assert(sizeof kPrefix == sizeof uuid->bytes);
    std::memcpy(uuid->bytes, kPrefix, sizeof uuid->bytes);
    uuid->bytes[sizeof uuid->bytes - 1] = static_cast<char>(device);
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceTotalMem(size_t* bytes, CUdevice device) {
  return call_of_device(__func__, device, bytes, [&] {
    *bytes = driver().memory.arena(device).bytes();
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  return call_of_device(__func__, device, value, [&] {
    if (attribute <= 0 || attribute >= CU_DEVICE_ATTRIBUTE_MAX) return CUDA_ERROR_INVALID_VALUE;
    *value = value_of(attribute, device);
    return CUDA_SUCCESS;
  });
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  return call_of_device(__func__, device, context, [&] {
    Context& primary = driver().contexts[static_cast<std::size_t>(device)];
    primary.retain();
    *context = primary.handle();
    return CUDA_SUCCESS;
  });
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
  return call(Needs::initialisation, __func__, [&] {
    if (!driver().has_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    Context& primary = driver().contexts[static_cast<std::size_t>(device)];
    if (!primary.release()) return CUDA_ERROR_INVALID_CONTEXT;
    if (primary.is_active()) return CUDA_SUCCESS;
    driver().streams.wait_for(device);
    driver().memory.peers().forget(device);
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetCurrent(CUcontext* context) {
  return call(Needs::initialisation, __func__, [&] {
    if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *context = current_context() == nullptr ? nullptr : current_context()->handle();
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxSetCurrent(CUcontext context) {
  return call(Needs::initialisation, __func__, [&] {
    Context* const found = driver().find(context);
    if (context != nullptr && (found == nullptr || !found->is_active()))
      return CUDA_ERROR_INVALID_CONTEXT;
    set_current_context(found);
    return CUDA_SUCCESS;
  });
}

CUresult tutti_standin_state(CUcontext context) {
  const Context* const found = driver().find(context);
  return found == nullptr ? CUDA_ERROR_INVALID_CONTEXT : found->error();
}

CUresult cuCtxGetDevice(CUdevice* device) {
  return call(Needs::context, __func__, [&] {
    if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *device = current_context()->device();
    return CUDA_SUCCESS;
  });
}
