#include "device_streams.hpp"

#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <string>
#include <utility>

#include <tutti/error.hpp>

#include "enqueue.hpp"

namespace tutti::v0::cuda {
namespace {

struct PointerInfo {
  unsigned type = 0;        ///< As CUmemorytype; 0: unknown to the driver.
  int ordinal = -1;         ///< The device.
  unsigned is_managed = 0;  ///< Nonzero: all devices and the host may access it, for any type.
};

PointerInfo info_of(const Device& device, const void* data) {
  PointerInfo info;
  std::array<CUpointer_attribute, 3> asked{CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                           CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                           CU_POINTER_ATTRIBUTE_IS_MANAGED};
  std::array<void*, 3> answers{&info.type, &info.ordinal, &info.is_managed};
  device.call("ask for the kind of memory", &DriverCalls::pointer_attributes,
              static_cast<unsigned>(asked.size()), asked.data(), answers.data(), address_of(data));
  return info;
}

/// @return whether the host can read a byte. It cannot read memory that a captured graph allocates,
/// for which the driver has no attributes until the graph runs.
bool is_readable(const void* data) {
  char byte = 0;
  const iovec to{.iov_base = &byte, .iov_len = 1};
  const iovec from{.iov_base = const_cast<void*>(data), .iov_len = 1};
  return ::process_vm_readv(::getpid(), &to, 1, &from, 1, 0) == 1;
}

}  // namespace

DeviceStreams::DeviceStreams(std::shared_ptr<const Device> device,
                             std::shared_ptr<DevicePeers> peers)
    : device_{std::move(device)}, peers_{std::move(peers)} {}

/// Rejects streams of other contexts. @param current the context of the calling thread, to which a
/// default stream belongs, or null.
void DeviceStreams::check_stream(CUstream stream, CUcontext current) const {
  if (stream == CU_STREAM_PER_THREAD)
    throw Error{ErrorCode::invalid_argument,
                "the stream is cudaStreamPerThread, which means another stream in each thread, and "
                "not all that is enqueued comes from one; make one by cudaStreamCreate"};
  const bool is_default = stream == nullptr || stream == CU_STREAM_LEGACY;
  CUcontext context = current == nullptr ? device_->context() : current;
  const Driver& driver = device_->driver();
  if (is_default) static_cast<void>(device_->is_captured(stream));
  else driver.check(driver.calls().stream_context(stream, &context), "find the GPU of the stream");
  if (context == device_->context()) return;
  throw Error{ErrorCode::invalid_argument,
              "the stream is none of GPU " + std::to_string(device_->ordinal()) +
                  ", which is attached to this communicator" +
                  (is_default ? ": the default stream is that of the current context"
                              : "; nor is one of a green context, or of any other than the "
                                "primary one")};
}

void DeviceStreams::check_memory(const char* which, const void* data, CUstream stream) const {
  const auto [type, ordinal, is_managed] = info_of(*device_, data);
  if (is_managed != 0) return;
  const std::string own = "GPU " + std::to_string(device_->ordinal());
  if (type == 0 && device_->is_captured(stream) && !is_readable(data)) return;
  if (type == 0)
    throw Error{ErrorCode::invalid_argument,
                std::string{"the "} + which + " lies in memory that " + own +
                    " does not see; give memory of it, or leave Options::stream out"};
  if (type == CU_MEMORYTYPE_DEVICE && ordinal != device_->ordinal())
    throw Error{ErrorCode::invalid_argument,
                std::string{"the "} + which + " lies in memory of GPU " + std::to_string(ordinal) +
                    "; give memory of " + own + ", which is attached to this communicator"};
}

void DeviceStreams::check(Stream stream, std::span<const std::byte> in, std::span<std::byte> out) {
  check_health();
  const Device::Current current{*device_};
  check_stream(of(stream), current.before());
  if (!in.empty()) check_memory("input", in.data(), of(stream));
  if (!out.empty()) check_memory("output", out.data(), of(stream));
}

bool DeviceStreams::is_on_device(const void* data) const {
  const PointerInfo info = info_of(*device_, data);
  return info.type == CU_MEMORYTYPE_DEVICE && info.is_managed == 0;
}

void DeviceStreams::adopt_thread() const {
  const Driver& driver = device_->driver();
  driver.check(driver.calls().set_context(device_->context()), "work on a GPU");
}

Stream DeviceStreams::own_stream() {
  if (!own_stream_) own_stream_ = device_->make_stream();
  return own_stream_.get();
}

bool DeviceStreams::is_captured(Stream stream) const {
  return device_->is_captured(of(stream));
}

std::unique_ptr<StreamMark> DeviceStreams::mark(Stream stream) {
  return std::make_unique<Event>(device_, of(stream));
}

void DeviceStreams::follow(Stream stream, Stream other) {
  if (stream.handle() != other.handle()) Event{device_, of(other)}.hold(of(stream));
}

void DeviceStreams::follow(Stream stream, const StreamMark& mark) {
  const auto* const event = dynamic_cast<const Event*>(&mark);
  expects(event != nullptr, "marks of one transport are not followed by another one");
  event->hold(of(stream));
}

std::byte* DeviceStreams::allocate(std::size_t bytes, Stream stream) {
  return reinterpret_cast<std::byte*>(device_->allocate(bytes, of(stream)));
}

void DeviceStreams::deallocate(std::byte* data, Stream stream) noexcept {
  device_->free(address_of(data), of(stream));
}

std::shared_ptr<std::byte> DeviceStreams::allocate_unordered(std::size_t bytes) const {
  return {reinterpret_cast<std::byte*>(device_->allocate(bytes)),
          [device = device_](std::byte* end) { device->free(address_of(end)); }};
}

void DeviceStreams::clear_now(std::byte* data, std::size_t bytes) {
  clear(data, bytes, own_stream());
  device_->call("clear memory of a GPU", &DriverCalls::synchronize, own_stream_.get());
}

void DeviceStreams::copy(std::byte* to, const std::byte* from, std::size_t bytes, Stream stream) {
  enqueue_copy(*device_, to, from, bytes, of(stream));
}

void DeviceStreams::clear(std::byte* to, std::size_t bytes, Stream stream) {
  if (bytes == 0) return;
  device_->call("clear memory of a GPU", &DriverCalls::fill, address_of(to), std::uint8_t{0}, bytes,
                of(stream));
}

void DeviceStreams::fold(const Fold& work, Stream stream) {
  enqueue_fold(*device_, work, of(stream));
}

void DeviceStreams::convert(const Conversion& work, Stream stream) {
  if (work.count > 0) device_->launch(work, of(stream));
}

void DeviceStreams::inspect(const Inspection& work, Stream stream) {
  if (work.count > 0) device_->launch(work, of(stream));
}

}  // namespace tutti::v0::cuda
