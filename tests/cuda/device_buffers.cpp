#include "device_buffers.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace tutti::test {

DeviceBuffers::DeviceBuffers(std::shared_ptr<cuda::DeviceMemory> memory, const Call& call,
                             Allocate allocate)
    : memory_{std::move(memory)}, allocate_{std::move(allocate)}, call_{call} {
  if (!allocate_)
    allocate_ = [own = memory_](std::size_t bytes) {
      return std::shared_ptr<std::byte>{
          own->allocate(bytes), [own, bytes](std::byte* data) { own->deallocate(data, bytes); }};
    };
  give_device_function();
  auto* const in = static_cast<std::byte*>(const_cast<void*>(call.in));
  auto* const out = static_cast<std::byte*>(call.out);
  const std::size_t in_bytes = in == nullptr ? 0 : call.in_count * call.element_bytes;
  const std::size_t out_bytes = out == nullptr ? 0 : call.out_count * call.element_bytes;
  if (in_bytes > 0 && out_bytes > 0 && in < out + out_bytes && out < in + in_bytes) {
    std::byte* const begin = std::min(in, out);
    in_ = region(begin, static_cast<std::size_t>(std::max(in + in_bytes, out + out_bytes) - begin));
    call_.in = in_.device.get() + (in - begin);
    call_.out = in_.device.get() + (out - begin);
    return;
  }
  in_ = region(in, in_bytes);
  out_ = region(out, out_bytes);
  call_.in = in_.device.get();
  call_.out = out_.device.get();
}

/// Earlier work on the stream must be done when the host reads its results.
void DeviceBuffers::give_device_function() {
  if (call_.op == nullptr || call_.op->kind() != OperatorKind::user) return;
  op_ = call_.op->with_device(
      [memory = memory_, host = *call_.op->function(), bytes = call_.element_bytes](
          const void* left, const void* right, void* out, std::size_t count, void* stream) {
        memory->wait(stream);
        std::vector<std::byte> a(count * bytes), b(count * bytes);
        memory->copy(a.data(), static_cast<const std::byte*>(left), a.size());
        memory->copy(b.data(), static_cast<const std::byte*>(right), b.size());
        host(a.data(), b.data(), a.data(), count);
        memory->copy(static_cast<std::byte*>(out), a.data(), a.size());
      });
  call_.op = &*op_;
}

DeviceBuffers::Region DeviceBuffers::region(std::byte* host, std::size_t bytes) {
  if (bytes == 0) return {};
  std::shared_ptr<std::byte> device = allocate_(bytes);
  memory_->copy(device.get(), host, bytes);
  return {host, bytes, std::move(device)};
}

void DeviceBuffers::store() {
  for (const Region* const region : {&in_, &out_})
    if (region->bytes > 0) memory_->copy(region->device.get(), region->host, region->bytes);
}

void DeviceBuffers::fetch() {
  for (const Region* const region : {&in_, &out_})
    if (region->bytes > 0) memory_->copy(region->host, region->device.get(), region->bytes);
}

}  // namespace tutti::test
