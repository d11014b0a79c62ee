#include "device.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include <tutti/error.hpp>

namespace tutti::v0::cuda {
namespace {

/// A thread converts this many elements at once where they lie well.
constexpr std::size_t kConvertedAtOnce = 8;

/// @param threads that have something to do, one or more. @return how many blocks of them are worth
/// running.
std::uint64_t worthwhile(const Kernel& kernel, std::uint64_t threads) noexcept {
  return std::min((threads + kernel.block - 1) / kernel.block, kernel.blocks);
}

}  // namespace

Device::Device(std::shared_ptr<const Driver> driver, int ordinal)
    : driver_{std::move(driver)}, ordinal_{ordinal} {
  const int devices = driver_->devices();
  if (ordinal < 0 || ordinal >= devices)
    throw Error{ErrorCode::invalid_argument, "there is no GPU " + std::to_string(ordinal) +
                                                 "; this process sees " + std::to_string(devices)};
  const DriverCalls& calls = driver_->calls();
  device_ = driver_->device(ordinal);
  if (attribute(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED) == 0)
    throw Error{ErrorCode::transport, "GPU " + std::to_string(ordinal) +
                                          " has no memory pools (cuMemAllocAsync), in which calls "
                                          "on streams have their scratch"};
  driver_->check(calls.retain_context(&context_, device_), "make the context of a GPU");
  try {
    const Current current{*this};
    make_pool();
    kernels_ = kernels_of(driver_, device_);
  } catch (...) {
    end();
    throw;
  }
}

void Device::make_pool() {
  const DriverCalls& calls = driver_->calls();
  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {};
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = ordinal_;
  driver_->check(calls.create_pool(&pool_, &properties), "make a pool of memory");
  std::uint64_t kept = ~std::uint64_t{0};
  driver_->check(calls.set_pool(pool_, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &kept),
                 "have a pool keep memory");
  // Streams of two communicators would wait for each other where ranks call them in other orders.
  int none = 0;
  driver_->check(calls.set_pool(pool_, CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES, &none),
                 "have a pool wait for no stream");
}

/// Where memory is short the pool gives back what it holds.
template <class Allocate>
CUdeviceptr Device::allocated_by(Allocate allocate) const {
  CUdeviceptr data = 0;
  CUresult result = allocate(&data);
  if (result == CUDA_ERROR_OUT_OF_MEMORY && driver_->calls().trim_pool(pool_, 0) == CUDA_SUCCESS)
    result = allocate(&data);
  if (result == CUDA_ERROR_OUT_OF_MEMORY) throw std::bad_alloc{};
  driver_->check(result, "allocate memory of a GPU");
  return data;
}

CUdeviceptr Device::allocate(std::size_t bytes, CUstream stream) const {
  return allocated_by(
      [&](CUdeviceptr* data) { return driver_->calls().allocate(data, bytes, pool_, stream); });
}

CUdeviceptr Device::allocate(std::size_t bytes) const {
  const Current current{*this};
  return allocated_by(
      [&](CUdeviceptr* data) { return driver_->calls().allocate_now(data, bytes); });
}

bool Device::may_access(CUdevice one, CUdevice other) const {
  int can = 0;
  driver_->check(driver_->calls().can_access_peer(&can, one, other),
                 "ask whether GPUs see each other");
  return can != 0;
}

void Device::share_pool(int ordinal) const {
  if (ordinal == ordinal_ || !may_access(driver_->device(ordinal), device_)) return;
  const Current current{*this};
  CUmemAccessDesc access{};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.location.id = ordinal;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  driver_->check(driver_->calls().share_pool(pool_, &access, 1), "share a pool of memory");
}

void Device::end() noexcept {
  within([this] {
    kernels_.reset();
    if (pool_ != nullptr) driver_->calls().destroy_pool(pool_);
  });
  driver_->calls().release_context(device_);
}

Device::~Device() {
  end();
}

Device::Current::Current(const Device& device) : calls_{device.driver().calls()} {
  device.driver().check(calls_.current_context(&before_), "ask for the current context");
  is_other_ = before_ != device.context_;
  if (is_other_) device.driver().check(calls_.set_context(device.context_), "make a GPU current");
}

Device::Current::~Current() {
  if (is_other_) calls_.set_context(before_);
}

void Device::require_stream_operations() const {
  if (attribute(CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS) == 0)
    throw Error{ErrorCode::transport,
                "streams of GPU " + std::to_string(ordinal_) +
                    " cannot wait for memory (cuStreamWaitValue64); this needs a newer GPU or "
                    "driver"};
}

void Device::see(int ordinal) const {
  if (ordinal == ordinal_) return;
  const DriverCalls& calls = driver_->calls();
  const CUdevice other = driver_->device(ordinal);
  if (!may_access(device_, other))
    throw Error{ErrorCode::transport, "nothing joins GPU " + std::to_string(ordinal_) +
                                          " and GPU " + std::to_string(ordinal)};
  CUcontext theirs = nullptr;
  driver_->check(calls.retain_context(&theirs, other), "find the context of a GPU");
  const Current current{*this};
  const CUresult result = calls.enable_peer_access(theirs, 0);
  calls.release_context(other);  // that rank has it
  if (result != CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED)
    driver_->check(result, "have a GPU see memory of another one");
}

CUstream Device::make_stream() const {
  const Current current{*this};
  CUstream stream = nullptr;
  driver_->check(driver_->calls().create_stream(&stream, CU_STREAM_NON_BLOCKING), "make a stream");
  return stream;
}

CUstream Device::make_urgent_stream() const {
  const Current current{*this};
  int greatest = 0;
  driver_->check(driver_->calls().priorities(nullptr, &greatest), "ask for priorities of streams");
  CUstream stream = nullptr;
  driver_->check(driver_->calls().create_prior_stream(&stream, CU_STREAM_NON_BLOCKING, greatest),
                 "make a stream");
  return stream;
}

bool Device::is_captured(CUstream stream) const {
  const Current current{*this};
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUresult result = driver_->calls().capturing(stream, &status);
  if (result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT)
    throw Error{ErrorCode::invalid_argument,
                "the default stream waits for one that is captured in a graph"};
  driver_->check(result, "ask whether a stream is captured");
  return status != CU_STREAM_CAPTURE_STATUS_NONE;
}

void Device::launch(const Kernel& kernel, std::uint64_t blocks, void* work, CUstream stream) const {
  void* parameters[] = {work};
  driver_->check(driver_->calls().launch(kernel.function, static_cast<unsigned>(blocks), 1, 1,
                                         kernel.block, 1, 1, 0, stream, parameters, nullptr),
                 "run one of tutti's kernels");
}

void Device::launch(Datatype type, const KernelWork& work, CUstream stream) const {
  const std::uint64_t in_chunks = work.chunks * (kChunkBytes / size_of(type));
  KernelWork passed = work;
  const Kernel& kernel = kernels_->folds.at(static_cast<std::size_t>(type));
  launch(kernel, worthwhile(kernel, std::max(work.chunks, work.count - in_chunks)), &passed,
         stream);
}

void Device::launch(const Conversion& work, CUstream stream) const {
  Conversion passed = work;
  const std::uint64_t threads = (work.count + kConvertedAtOnce - 1) / kConvertedAtOnce;
  launch(kernels_->convert, worthwhile(kernels_->convert, threads), &passed, stream);
}

void Device::launch(const Inspection& work, CUstream stream) const {
  Inspection passed = work;
  launch(kernels_->inspect, kInspectors / kernels_->inspect.block, &passed, stream);
}

}  // namespace tutti::v0::cuda
