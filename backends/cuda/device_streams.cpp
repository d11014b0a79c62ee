#include "device_streams.hpp"

#include <array>
#include <string>
#include <utility>

#include <tutti/error.hpp>

#include "enqueue.hpp"

namespace tutti::v0::cuda {
namespace {

/// Where memory lies.
struct Place {
  unsigned type = 0;        ///< As CUmemorytype; 0: the driver knows nothing of it.
  int ordinal = -1;         ///< Of its device.
  unsigned is_managed = 0;  ///< Any device and the host may touch it; then all else means nothing.
};

/// In a context that is current.
Place place_of(const Device& device, const void* data) {
  Place place;
  std::array<CUpointer_attribute, 3> asked{CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                           CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                           CU_POINTER_ATTRIBUTE_IS_MANAGED};
  std::array<void*, 3> answers{&place.type, &place.ordinal, &place.is_managed};
  const Driver& driver = device.driver();
  driver.check(driver.calls().pointer_attributes(static_cast<unsigned>(asked.size()), asked.data(),
                                                 answers.data(), address_of(data)),
               "ask what memory that is");
  return place;
}

}  // namespace

DeviceStreams::DeviceStreams(std::shared_ptr<const Device> device) : device_{std::move(device)} {}

DeviceStreams::~DeviceStreams() {
  if (own_stream_ != nullptr) device_->destroy(own_stream_);
}

/// @param stream of the program. @param current the context of the calling thread, or null: that of
/// a default stream.
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

void DeviceStreams::check_memory(const char* which, const void* data) const {
  const auto [type, ordinal, is_managed] = place_of(*device_, data);
  if (is_managed != 0) return;
  const std::string own = "GPU " + std::to_string(device_->ordinal());
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
  if (!in.empty()) check_memory("input", in.data());
  if (!out.empty()) check_memory("output", out.data());
}

bool DeviceStreams::is_on_device(const void* data) const {
  const Device::Current current{*device_};
  const Place place = place_of(*device_, data);
  return place.type == CU_MEMORYTYPE_DEVICE && place.is_managed == 0;
}

void DeviceStreams::adopt_thread() const {
  const Driver& driver = device_->driver();
  driver.check(driver.calls().set_context(device_->context()), "work on a GPU");
}

Stream DeviceStreams::own_stream() {
  if (own_stream_ == nullptr) own_stream_ = device_->make_stream();
  return own_stream_;
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
  const Device::Current current{*device_};
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
  const Device::Current current{*device_};
  clear(data, bytes, own_stream());
  const Driver& driver = device_->driver();
  driver.check(driver.calls().synchronize(own_stream_), "clear memory of a GPU");
}

void DeviceStreams::copy(std::byte* to, const std::byte* from, std::size_t bytes, Stream stream) {
  const Device::Current current{*device_};
  enqueue_copy(*device_, to, from, bytes, of(stream));
}

void DeviceStreams::clear(std::byte* to, std::size_t bytes, Stream stream) {
  if (bytes == 0) return;
  const Device::Current current{*device_};
  const Driver& driver = device_->driver();
  driver.check(driver.calls().fill(address_of(to), 0, bytes, of(stream)), "clear memory of a GPU");
}

void DeviceStreams::fold(const Fold& work, Stream stream) {
  const Device::Current current{*device_};
  enqueue_fold(*device_, work, of(stream));
}

void DeviceStreams::convert(const Conversion& work, Stream stream) {
  if (work.count == 0) return;
  const Device::Current current{*device_};
  device_->launch(work, of(stream));
}

void DeviceStreams::inspect(const Inspection& work, Stream stream) {
  if (work.count == 0) return;
  const Device::Current current{*device_};
  device_->launch(work, of(stream));
}

}  // namespace tutti::v0::cuda
