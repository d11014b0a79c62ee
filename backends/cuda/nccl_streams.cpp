#include "nccl_streams.hpp"

#include <array>
#include <new>
#include <thread>
#include <utility>

#include "enqueue.hpp"
#include "event.hpp"
#include "nccl_connect.hpp"

namespace tutti::inline v0::cuda {
namespace {

CUstream of(Stream stream) noexcept {
  return static_cast<CUstream>(stream.handle());
}

/// Where memory lies.
struct Place {
  unsigned type = 0;  ///< As CUmemorytype; 0: the driver knows nothing of it.
  int ordinal = -1;   ///< Of its device.
};

/// In a context that is current.
Place place_of(const Device& device, const void* data) {
  Place place;
  std::array<CUpointer_attribute, 2> asked{CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                           CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
  std::array<void*, 2> answers{&place.type, &place.ordinal};
  const Driver& driver = device.driver();
  driver.check(driver.calls().pointer_attributes(static_cast<unsigned>(asked.size()), asked.data(),
                                                 answers.data(), address_of(data)),
               "ask what memory that is");
  return place;
}

/// Memory as NCCL has it best, or, of old versions, any.
std::shared_ptr<std::byte> allocate_for_nccl(const std::shared_ptr<const Nccl>& nccl,
                                             const std::shared_ptr<const Device>& device,
                                             std::size_t bytes) {
  const NcclCalls& calls = nccl->calls();
  if (calls.allocate != nullptr) {
    void* data = nullptr;
    nccl->check(calls.allocate(&data, bytes), "allocate memory of a GPU");
    return {static_cast<std::byte*>(data),
            [nccl, device](std::byte* end) { device->within([&] { nccl->calls().free(end); }); }};
  }
  CUdeviceptr data = 0;
  const CUresult result = device->driver().calls().allocate_now(&data, bytes);
  if (result == CUDA_ERROR_OUT_OF_MEMORY) throw std::bad_alloc{};
  device->driver().check(result, "allocate memory of a GPU");
  return {reinterpret_cast<std::byte*>(data),
          [device](std::byte* end) { device->free(address_of(end)); }};
}

/// NCCL_WIN_COLL_SYMMETRIC, which old headers have not.
constexpr int kSymmetric = 1;
/// Between two looks at what goes on without us.
constexpr std::chrono::microseconds kNap{50};

}  // namespace

NcclStreams::NcclStreams(Parts parts, const ncclUniqueId& id, Rank self, int size)
    : parts_{std::move(parts)}, size_{size} {
  const Device::Current current{*parts_.device};
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  const NcclCalls& calls = parts_.nccl->calls();
  const ncclResult_t result = calls.init(&communicator_, size, id, self, &config);
  try {
    settle(result, "start NCCL");
  } catch (...) {
    if (communicator_ != nullptr) calls.abort(communicator_);
    throw;
  }
}

/// Ends what was enqueued, as far as that ends in time.
NcclStreams::~NcclStreams() {
  if (own_stream_ != nullptr) parts_.device->destroy(own_stream_);
  if (communicator_ == nullptr) return;
  const NcclCalls& calls = parts_.nccl->calls();
  try {
    const Device::Current current{*parts_.device};
    settle(calls.finalize(communicator_), "end NCCL");
    calls.destroy(communicator_);
  } catch (const Error&) {
    calls.abort(communicator_);
  }
}

/// What does not block may still be under way: waits until it is not.
void NcclStreams::settle(ncclResult_t result, const char* what) const {
  const auto deadline = deadline_after(Clock::now().time_since_epoch(), parts_.timeout);
  while (result == ncclInProgress && communicator_ != nullptr) {
    if (Clock::now().time_since_epoch() >= deadline)
      throw Error{
          ErrorCode::timeout,
          std::string{"cannot "} + what + ": other ranks have not come within " +
              std::to_string(std::chrono::ceil<std::chrono::seconds>(parts_.timeout).count()) +
              " s"};
    const ncclResult_t asked = parts_.nccl->calls().state(communicator_, &result);
    parts_.nccl->check(asked, what, communicator_);
    if (result == ncclInProgress) std::this_thread::sleep_for(kNap);
  }
  parts_.nccl->check(result, what, communicator_);
}

/// Ten microseconds for a group, 200 GB/s between GPUs of a host, and three accesses to memory of
/// 3 TB/s for a byte that is reduced.
Tariff NcclStreams::tariff() const {
  return {.costs = {.alpha = 10'000'000'000, .beta = 5'000, .gamma = 1'000},
          .origin = "assumed of GPUs of one host"};
}

std::shared_ptr<StreamTransport> NcclStreams::divide(Communicator& part) {
  check_health();
  return connect_nccl(part, parts_);
}

void NcclStreams::check_health() const {
  if (failure_) throw Error{*failure_};
  ncclResult_t state = ncclSuccess;
  parts_.nccl->check(parts_.nccl->calls().state(communicator_, &state), "ask NCCL how it is",
                     communicator_);
  if (state != ncclInProgress) parts_.nccl->check(state, "go on", communicator_);
}

void NcclStreams::check_stream(CUstream stream) const {
  CUcontext context = nullptr;
  const CUresult result = parts_.device->driver().calls().stream_context(stream, &context);
  if (result == CUDA_SUCCESS && context == parts_.device->context()) return;
  throw Error{ErrorCode::invalid_argument,
              result == CUDA_SUCCESS
                  ? "the stream is none of GPU " + std::to_string(parts_.device->ordinal()) +
                        ", which is attached to this communicator"
                  : "Options::stream is no stream, or one that has ended"};
}

void NcclStreams::check_memory(const char* which, const void* data) const {
  const auto [type, ordinal] = place_of(*parts_.device, data);
  const std::string own = "GPU " + std::to_string(parts_.device->ordinal());
  if (type == 0)
    throw Error{ErrorCode::invalid_argument,
                std::string{"the "} + which + " lies in memory that " + own +
                    " does not see; give memory of it, or leave Options::stream out"};
  if (type == CU_MEMORYTYPE_DEVICE && ordinal != parts_.device->ordinal())
    throw Error{ErrorCode::invalid_argument,
                std::string{"the "} + which + " lies in memory of GPU " + std::to_string(ordinal) +
                    "; give memory of " + own + ", which is attached to this communicator"};
}

void NcclStreams::check(Stream stream, std::span<const std::byte> in, std::span<std::byte> out) {
  check_health();
  const Device::Current current{*parts_.device};
  check_stream(of(stream));
  if (!in.empty()) check_memory("input", in.data());
  if (!out.empty()) check_memory("output", out.data());
}

bool NcclStreams::is_on_device(const void* data) const {
  const Device::Current current{*parts_.device};
  return place_of(*parts_.device, data).type == CU_MEMORYTYPE_DEVICE;
}

Stream NcclStreams::own_stream() {
  if (own_stream_ == nullptr) {
    const Device::Current current{*parts_.device};
    const Driver& driver = parts_.device->driver();
    driver.check(driver.calls().create_stream(&own_stream_, CU_STREAM_NON_BLOCKING),
                 "make a stream");
  }
  return own_stream_;
}

bool NcclStreams::is_captured(Stream stream) const {
  const Device::Current current{*parts_.device};
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  const Driver& driver = parts_.device->driver();
  driver.check(driver.calls().capturing(of(stream), &status), "ask whether a stream is captured");
  return status != CU_STREAM_CAPTURE_STATUS_NONE;
}

std::unique_ptr<StreamMark> NcclStreams::mark(Stream stream) {
  return std::make_unique<Event>(parts_.device, of(stream));
}

void NcclStreams::follow(Stream stream, Stream other) {
  if (stream.handle() != other.handle()) Event{parts_.device, of(other)}.hold(of(stream));
}

std::byte* NcclStreams::allocate(std::size_t bytes, Stream stream) {
  const Device::Current current{*parts_.device};
  CUdeviceptr data = 0;
  const Driver& driver = parts_.device->driver();
  const CUresult result = driver.calls().allocate(&data, bytes, of(stream));
  if (result == CUDA_ERROR_OUT_OF_MEMORY) throw std::bad_alloc{};
  driver.check(result, "allocate memory of a GPU");
  return reinterpret_cast<std::byte*>(data);
}

void NcclStreams::deallocate(std::byte* data, Stream stream) noexcept {
  parts_.device->free(address_of(data), of(stream));
}

/// @return NCCL's handle of the memory, in which it then moves data without copies of its own; null
/// where this version has none.
void* NcclStreams::enroll(std::byte* data, std::size_t bytes) const {
  const NcclCalls& calls = parts_.nccl->calls();
  void* handle = nullptr;
  if (calls.open_window != nullptr)
    settle(calls.open_window(communicator_, data, bytes, &handle, kSymmetric), "register memory");
  else if (calls.enroll != nullptr)
    settle(calls.enroll(communicator_, data, bytes, &handle), "register memory");
  return handle;
}

void NcclStreams::dismiss(void* handle) const noexcept {
  if (handle == nullptr || communicator_ == nullptr) return;
  const NcclCalls& calls = parts_.nccl->calls();
  if (calls.open_window != nullptr) calls.close_window(communicator_, handle);
  else calls.dismiss(communicator_, handle);
}

std::shared_ptr<std::byte> NcclStreams::allocate_registered(std::size_t bytes) {
  const Device::Current current{*parts_.device};
  std::shared_ptr<std::byte> memory = allocate_for_nccl(parts_.nccl, parts_.device, bytes);
  clear(memory.get(), bytes, own_stream());
  const Driver& driver = parts_.device->driver();
  driver.check(driver.calls().synchronize(own_stream_), "clear memory of a GPU");
  void* const handle = enroll(memory.get(), bytes);
  std::byte* const data = memory.get();
  return {data, [memory = std::move(memory), handle, owner = weak_from_this()](std::byte*) {
            if (const auto alive = owner.lock()) alive->dismiss(handle);
          }};
}

void NcclStreams::send_or_receive(const StreamMessage& message, CUstream stream) const {
  const NcclCalls& calls = parts_.nccl->calls();
  const bool is_send = message.kind == Transfer::Kind::send;
  const ncclResult_t result = is_send ? calls.send(message.data, message.bytes, ncclInt8,
                                                   message.peer, communicator_, stream)
                                      : calls.receive(message.data, message.bytes, ncclInt8,
                                                      message.peer, communicator_, stream);
  if (result != ncclInProgress) parts_.nccl->check(result, "enqueue a message", communicator_);
}

void NcclStreams::exchange(std::span<const StreamMessage> messages, Stream stream) {
  const Device::Current current{*parts_.device};
  const NcclCalls& calls = parts_.nccl->calls();
  parts_.nccl->check(calls.begin_group(), "begin a group", communicator_);
  try {
    for (const StreamMessage& message : messages) send_or_receive(message, of(stream));
  } catch (...) {
    static_cast<void>(calls.end_group());  // else the thread stays in it
    throw;
  }
  settle(calls.end_group(), "enqueue messages");
}

void NcclStreams::copy(std::byte* to, const std::byte* from, std::size_t bytes, Stream stream) {
  const Device::Current current{*parts_.device};
  enqueue_copy(*parts_.device, to, from, bytes, of(stream));
}

void NcclStreams::clear(std::byte* to, std::size_t bytes, Stream stream) {
  if (bytes == 0) return;
  const Device::Current current{*parts_.device};
  const Driver& driver = parts_.device->driver();
  driver.check(driver.calls().fill(address_of(to), 0, bytes, of(stream)), "clear memory of a GPU");
}

void NcclStreams::fold(const Fold& work, Stream stream) {
  const Device::Current current{*parts_.device};
  enqueue_fold(*parts_.device, work, of(stream));
}

void NcclStreams::abort(const Error& cause) noexcept {
  if (failure_) return;
  failure_ = cause;
  if (communicator_ != nullptr) parts_.nccl->calls().abort(std::exchange(communicator_, nullptr));
}

}  // namespace tutti::inline v0::cuda
