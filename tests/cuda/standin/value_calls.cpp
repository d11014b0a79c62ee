// The driver's functions that let a stream write a value to memory, and wait for one.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <type_traits>

#include "tests/cuda/standin/driver.hpp"

using namespace tutti::standin;

namespace {

template <class T>
bool holds(T found, T wanted, unsigned int condition) {
  switch (condition) {
    case CU_STREAM_WAIT_VALUE_EQ: return found == wanted;
    case CU_STREAM_WAIT_VALUE_AND: return (found & wanted) != 0;
    case CU_STREAM_WAIT_VALUE_NOR: return ~(found | wanted) != 0;
    // Greater or equal, in numbers that wrap around.
    default: return static_cast<std::make_signed_t<T>>(found - wanted) >= 0;
  }
}

// @return a device's pointer to a value; null if it may not access it.
template <class T>
T* reach(int device, CUdeviceptr address) {
  return reinterpret_cast<T*>(driver().memory.reach_from(device, address, sizeof(T)));
}

/// Waits a little, and longer each time, as all streams together have few processors.
class Patience {
 public:
  void wait() {
    constexpr std::chrono::microseconds kLongest{500};
    if (++tries_ <= kYields) return std::this_thread::yield();
    std::this_thread::sleep_for(pause_);
    pause_ = std::min(2 * pause_, kLongest);
  }

 private:
  static constexpr int kYields = 50;
  int tries_ = 0;
  std::chrono::microseconds pause_{10};
};

template <class T>
CUresult write_value(int device, CUdeviceptr address, T value) {
  T* const place = reach<T>(device, address);
  if (place == nullptr) return CUDA_ERROR_ILLEGAL_ADDRESS;
  Memory& memory = driver().memory;
  if (const int owner = memory.device_of(address); owner >= 0 && owner != device && sizeof(T) == 8)
    memory.remote_writes().note(address, std::atomic_ref<T>{*place}.load(), value);
  std::atomic_ref<T>{*place}.store(value);
  return CUDA_SUCCESS;
}

// Anybody may write the value, so there is nothing but to look again and again.
template <class T>
CUresult wait_for_value(const Stream& on, int device, CUdeviceptr address, T value,
                        unsigned int condition) {
  for (Patience patience; !on.is_in_vain(); patience.wait()) {
    T* const place = reach<T>(device, address);
    if (place == nullptr) return CUDA_ERROR_ILLEGAL_ADDRESS;
    if (!holds(std::atomic_ref<T>{*place}.load(), value, condition)) continue;
    driver().memory.remote_writes().complete(address);
    return CUDA_SUCCESS;
  }
  return CUDA_SUCCESS;
}

// Only memory that the driver knows can be named, and none of a pool: an H100 with driver 580 says
// that such an address is an invalid argument.
template <class T>
bool is_place(CUdeviceptr address) {
  const Place place = driver().memory.find(address);
  return address % sizeof(T) == 0 && place.type != 0 && !place.range.pool;
}

template <class T>
CUresult call_write(std::string_view function, CUstream stream, CUdeviceptr address, T value,
                    unsigned int flags) {
  return call_on_stream(function, stream, [&](Stream& on) {
    if (sizeof(T) == 8 && driver().lacks == "memops") return CUDA_ERROR_NOT_SUPPORTED;
    if (flags > CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER || !is_place<T>(address))
      return CUDA_ERROR_INVALID_VALUE;
    return submit(on, {.run = [=, device = on.context().device()](const Stream&) {
                    return write_value<T>(device, address, value);
                  }});
  });
}

template <class T>
CUresult call_wait(std::string_view function, CUstream stream, CUdeviceptr address, T value,
                   unsigned int flags) {
  return call_on_stream(function, stream, [&](Stream& on) {
    if (sizeof(T) == 8 && driver().lacks == "memops") return CUDA_ERROR_NOT_SUPPORTED;
    if ((flags & CU_STREAM_WAIT_VALUE_FLUSH) != 0) return CUDA_ERROR_NOT_SUPPORTED;
    if (flags > CU_STREAM_WAIT_VALUE_NOR || !is_place<T>(address)) return CUDA_ERROR_INVALID_VALUE;
    return submit(on, {.run = [=, device = on.context().device()](const Stream& where) {
                    return wait_for_value<T>(where, device, address, value, flags);
                  }});
  });
}

}  // namespace

CUresult cuStreamWriteValue32(CUstream stream, CUdeviceptr address, cuuint32_t value,
                              unsigned int flags) {
  return call_write<cuuint32_t>(__func__, stream, address, value, flags);
}

CUresult cuStreamWriteValue64(CUstream stream, CUdeviceptr address, cuuint64_t value,
                              unsigned int flags) {
  return call_write<cuuint64_t>(__func__, stream, address, value, flags);
}

CUresult cuStreamWaitValue64(CUstream stream, CUdeviceptr address, cuuint64_t value,
                             unsigned int flags) {
  return call_wait<cuuint64_t>(__func__, stream, address, value, flags);
}
