// The driver's functions that copy and fill.
#include <cstring>
#include <memory>
#include <vector>

#include "tests/cuda/standin/driver.hpp"

using namespace tutti::standin;

namespace {

enum class Side { device, pinned, pageable };

Side side_of(CUdeviceptr address) {
  if (driver().memory.is_on_device(address)) return Side::device;
  return driver().memory.find(address).type == 0 ? Side::pageable : Side::pinned;
}

CUresult copy(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
  std::byte* const target = driver().memory.reach(to, bytes);
  const std::byte* const source = driver().memory.reach(from, bytes);
  if (target == nullptr || source == nullptr) return CUDA_ERROR_ILLEGAL_ADDRESS;
  std::memmove(target, source, bytes);
  return CUDA_SUCCESS;
}

CUresult fill(CUdeviceptr start, unsigned char value, std::size_t bytes) {
  std::byte* const target = driver().memory.reach(start, bytes);
  if (target == nullptr) return CUDA_ERROR_ILLEGAL_ADDRESS;
  std::memset(target, value, bytes);
  return CUDA_SUCCESS;
}

// Waits until the stream has come to the end of the work.
CUresult enqueue_and_wait(Stream& on, Work work) {
  const auto mark = std::make_shared<Mark>();
  if (const CUresult result = on.enqueue(std::move(work)); result != CUDA_SUCCESS) return result;
  const CUresult result = on.enqueue(work_that_reaches(mark));
  if (result != CUDA_SUCCESS) return result;
  mark->wait();
  return on.context().error();
}

// The source is read before the call returns.
CUresult copy_staged(Stream& on, CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
  const auto* const begin = static_cast<const std::byte*>(pointer_of(from));
  const auto stage = std::make_shared<std::vector<std::byte>>(begin, begin + bytes);
  return on.enqueue({.run = [to, stage, bytes](const Stream&) {
    return copy(to, address_of(stage->data()), bytes);
  }});
}

}  // namespace

// As with the driver, the host waits for a copy from memory of the host to such, and for one to
// memory that is not pinned; a copy from such memory to a device reads it at once. A recorded copy
// reads it at each launch.
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return call_on_stream(__func__, stream, [&](Stream& on) {
    if (bytes == 0) return CUDA_SUCCESS;
    if (to == 0 || from == 0) return CUDA_ERROR_INVALID_VALUE;
    Work work{.run = [to, from, bytes](const Stream&) { return copy(to, from, bytes); }};
    if (driver().captures.records(on)) return submit(on, std::move(work));
    const Side target = side_of(to);
    const Side source = side_of(from);
    if (target == Side::device && source == Side::pageable) return copy_staged(on, to, from, bytes);
    const bool waits =
        target == Side::pageable || (target != Side::device && source != Side::device);
    return waits ? enqueue_and_wait(on, std::move(work)) : on.enqueue(std::move(work));
  });
}

CUresult cuMemsetD8Async(CUdeviceptr start, unsigned char value, size_t bytes, CUstream stream) {
  return call_on_stream(__func__, stream, [&](Stream& on) {
    if (bytes == 0) return CUDA_SUCCESS;
    if (start == 0) return CUDA_ERROR_INVALID_VALUE;
    return submit(
        on, {.run = [start, value, bytes](const Stream&) { return fill(start, value, bytes); }});
  });
}
