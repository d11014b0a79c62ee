#include "device.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include <tutti/error.hpp>

#include "kernel_image.hpp"

namespace tutti::v0::cuda {
namespace {

constexpr unsigned kThreadsPerBlock = 256;
/// So many blocks of each processor hide each other's waits for memory.
constexpr unsigned kBlocksPerProcessor = 8;
/// So many elements a thread converts at once where they lie well.
constexpr std::size_t kConvertedAtOnce = 8;

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
  processors_ = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  driver_->check(calls.retain_context(&context_, device_), "make the context of a GPU");
  try {
    const Current current{*this};
    make_pool();
    driver_->check(calls.load_module(&module_, kernel_image()), "load tutti's kernels");
    for (int type = 0; type < static_cast<int>(Datatype::opaque); ++type)
      folds_.at(static_cast<std::size_t>(type)) =
          find_kernel("tutti_fold_" + std::string{name_of(static_cast<Datatype>(type))});
    convert_ = find_kernel("tutti_convert");
    inspect_ = find_kernel("tutti_inspect");
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
    if (module_ != nullptr) driver_->calls().unload_module(module_);
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

Device::RemoteWrites Device::remote_writes() const {
  if (attribute(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING) >=
      CU_GPU_DIRECT_RDMA_WRITES_ORDERING_OWNER)
    return RemoteWrites::ordered;
  const int options = attribute(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS);
  return (options & CU_FLUSH_GPU_DIRECT_RDMA_WRITES_OPTION_HOST) != 0 ? RemoteWrites::flushed
                                                                      : RemoteWrites::unordered;
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

CUfunction Device::find_kernel(const std::string& name) const {
  CUfunction kernel = nullptr;
  driver_->check(driver_->calls().function(&kernel, module_, name.c_str()),
                 "find one of tutti's kernels");
  return kernel;
}

/// @param threads that have something to do, one or more. @return how many are worth running.
std::uint64_t Device::worthwhile(std::uint64_t threads) const noexcept {
  const auto most =
      static_cast<std::uint64_t>(processors_) * kBlocksPerProcessor * kThreadsPerBlock;
  return std::min(threads, most);
}

void Device::launch(CUfunction kernel, std::uint64_t threads, void* work, CUstream stream) const {
  const std::uint64_t blocks = (threads + kThreadsPerBlock - 1) / kThreadsPerBlock;
  void* parameters[] = {work};
  driver_->check(driver_->calls().launch(kernel, static_cast<unsigned>(blocks), 1, 1,
                                         kThreadsPerBlock, 1, 1, 0, stream, parameters, nullptr),
                 "run one of tutti's kernels");
}

void Device::launch(Datatype type, const KernelWork& work, CUstream stream) const {
  const std::uint64_t in_chunks = work.chunks * (kChunkBytes / size_of(type));
  KernelWork passed = work;
  launch(folds_.at(static_cast<std::size_t>(type)),
         worthwhile(std::max(work.chunks, work.count - in_chunks)), &passed, stream);
}

void Device::launch(const Conversion& work, CUstream stream) const {
  Conversion passed = work;
  const std::uint64_t threads = (work.count + kConvertedAtOnce - 1) / kConvertedAtOnce;
  launch(convert_, worthwhile(threads), &passed, stream);
}

void Device::launch(const Inspection& work, CUstream stream) const {
  Inspection passed = work;
  launch(inspect_, kInspectors, &passed, stream);
}

}  // namespace tutti::v0::cuda
