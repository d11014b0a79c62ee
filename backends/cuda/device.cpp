#include "device.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include <tutti/error.hpp>

namespace tutti::v0::cuda {
namespace {

/// Elements that a thread converts at once if they are aligned.
constexpr std::size_t kConvertedAtOnce = 8;

/// @param threads that have work, one or more.
std::uint64_t blocks_for(const Kernel& kernel, std::uint64_t threads) noexcept {
  return std::min((threads + kernel.block - 1) / kernel.block, kernel.blocks);
}

}  // namespace

Device::Device(std::shared_ptr<const Driver> driver, int ordinal)
    : Context{std::move(driver), ordinal} {
  if (attribute(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED) == 0)
    throw Error{ErrorCode::transport, "GPU " + std::to_string(ordinal) +
                                          " has no memory pools (cuMemAllocAsync), in which calls "
                                          "on streams have their scratch"};
  make_pool();
  const Current current{*this};
  kernels_ = kernels_of(shared_driver(), device());
}

Device::~Device() {
  within([this] { kernels_.reset(); });
}

void Device::make_pool() {
  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {};
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = ordinal();
  CUmemoryPool pool = nullptr;
  call("make a pool of memory", &DriverCalls::create_pool, &pool, &properties);
  pool_ = {pool, {this}};
  std::uint64_t kept = ~std::uint64_t{0};
  call("have a pool keep memory", &DriverCalls::set_pool, pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
       &kept);
  // Streams of two communicators would wait for each other if ranks call them in different orders.
  int none = 0;
  call("have a pool wait for no stream", &DriverCalls::set_pool, pool,
       CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES, &none);
}

/// If memory is short, the pool returns what it keeps, and the second attempt may succeed.
CUdeviceptr Device::allocate(std::size_t bytes, std::optional<CUstream> stream) const {
  const Current current{*this};
  const DriverCalls& calls = driver().calls();
  CUdeviceptr data = 0;
  const auto attempt = [&] {
    return stream ? calls.allocate(&data, bytes, pool_.get(), *stream)
                  : calls.allocate_now(&data, bytes);
  };
  CUresult result = attempt();
  if (result == CUDA_ERROR_OUT_OF_MEMORY && calls.trim_pool(pool_.get(), 0) == CUDA_SUCCESS)
    result = attempt();
  if (result == CUDA_ERROR_OUT_OF_MEMORY) throw std::bad_alloc{};
  driver().check(result, "allocate memory of a GPU");
  return data;
}

void Device::free(CUdeviceptr data, std::optional<CUstream> stream) const noexcept {
  if (stream) within([&] { driver().calls().free(data, *stream); });
  else frees()->free_device(data);
}

bool Device::may_access(CUdevice one, CUdevice other) const {
  int can = 0;
  driver().check(driver().calls().can_access_peer(&can, one, other),
                 "ask whether GPUs have peer access");
  return can != 0;
}

void Device::share_pool(int other) const {
  if (other == ordinal() || !may_access(driver().device(other), device())) return;
  CUmemAccessDesc access{};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.location.id = other;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  call("share a pool of memory", &DriverCalls::share_pool, pool_.get(), &access, 1U);
}

void Device::require_stream_operations() const {
  if (attribute(CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS) == 0)
    throw Error{ErrorCode::transport,
                "streams of GPU " + std::to_string(ordinal()) +
                    " cannot wait for memory (cuStreamWaitValue64); this needs a newer GPU or "
                    "driver"};
}

void Device::enable_access_to(int other) const {
  if (other == ordinal()) return;
  const DriverCalls& calls = driver().calls();
  const CUdevice peer = driver().device(other);
  if (!may_access(device(), peer))
    throw Error{ErrorCode::transport, "GPU " + std::to_string(ordinal()) + " and GPU " +
                                          std::to_string(other) + " have no peer access"};
  CUcontext theirs = nullptr;
  driver().check(calls.retain_context(&theirs, peer), "find the context of a GPU");
  const Current current{*this};
  const CUresult result = calls.enable_peer_access(theirs, 0);
  calls.release_context(peer);  // the peer's rank keeps it alive
  if (result != CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED)
    driver().check(result, "enable peer access to a GPU");
}

OwnedStream Device::make_stream() const {
  CUstream stream = nullptr;
  call("make a stream", &DriverCalls::create_stream, &stream, unsigned{CU_STREAM_NON_BLOCKING});
  return {stream, {this}};
}

OwnedStream Device::make_urgent_stream() const {
  int greatest = 0;
  CUstream stream = nullptr;
  call("ask for priorities of streams", &DriverCalls::priorities, nullptr, &greatest);
  call("make a stream", &DriverCalls::create_prior_stream, &stream,
       unsigned{CU_STREAM_NON_BLOCKING}, greatest);
  return {stream, {this}};
}

bool Device::is_captured(CUstream stream) const {
  const Current current{*this};
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUresult result = driver().calls().capturing(stream, &status);
  if (result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT)
    throw Error{ErrorCode::invalid_argument,
                "the default stream waits for one that is captured in a graph"};
  driver().check(result, "ask whether a stream is captured");
  return status != CU_STREAM_CAPTURE_STATUS_NONE;
}

template <class Work>
void Device::launch(const Kernel& kernel, std::uint64_t blocks, const Work& work,
                    CUstream stream) const {
  Work passed = work;
  void* parameters[] = {&passed};
  call("run one of tutti's kernels", &DriverCalls::launch, kernel.function,
       static_cast<unsigned>(blocks), 1U, 1U, kernel.block, 1U, 1U, 0U, stream, +parameters,
       nullptr);
}

void Device::launch(Datatype type, const KernelWork& work, CUstream stream) const {
  const std::uint64_t in_chunks = work.chunks * (kChunkBytes / size_of(type));
  const Kernel& kernel = kernels_->folds.at(static_cast<std::size_t>(type));
  launch(kernel, blocks_for(kernel, std::max(work.chunks, work.count - in_chunks)), work, stream);
}

void Device::launch(const Conversion& work, CUstream stream) const {
  const std::uint64_t threads = (work.count + kConvertedAtOnce - 1) / kConvertedAtOnce;
  launch(kernels_->convert, blocks_for(kernels_->convert, threads), work, stream);
}

void Device::launch(const Inspection& work, CUstream stream) const {
  launch(kernels_->inspect, kInspectors / kernels_->inspect.block, work, stream);
}

}  // namespace tutti::v0::cuda
