/// @file
/// The part of a StreamTransport that does not depend on its messages.
#pragma once

#include <memory>

#include <tutti/spi/streams.hpp>

#include "device.hpp"
#include "event.hpp"
#include "peers/device_peers.hpp"

namespace tutti::v0::cuda {

/// Memory, copies and folds of one GPU, on its streams.
class DeviceStreams : public StreamTransport {
 public:
  void check(Stream stream, std::span<const std::byte> in, std::span<std::byte> out) override;
  [[nodiscard]] bool is_on_device(const void* data) const override;
  void adopt_thread() const override;
  [[nodiscard]] Stream own_stream() override;
  [[nodiscard]] bool is_captured(Stream stream) const override;
  [[nodiscard]] std::unique_ptr<StreamMark> mark(Stream stream) override;
  void follow(Stream stream, Stream other) override;
  void follow(Stream stream, const StreamMark& mark) override;
  [[nodiscard]] std::byte* allocate(std::size_t bytes, Stream stream) override;
  void deallocate(std::byte* data, Stream stream) noexcept override;
  void copy(std::byte* to, const std::byte* from, std::size_t bytes, Stream stream) override;
  void clear(std::byte* to, std::size_t bytes, Stream stream) override;
  void fold(const Fold& work, Stream stream) override;
  void convert(const Conversion& work, Stream stream) override;
  void inspect(const Inspection& work, Stream stream) override;
  [[nodiscard]] StreamPeers* peers() noexcept override { return peers_.get(); }

 protected:
  /// @param device not null. @param peers null if ranks do not see each other's memory.
  DeviceStreams(std::shared_ptr<const Device> device, std::shared_ptr<DevicePeers> peers);

  [[nodiscard]] const std::shared_ptr<const Device>& device() const noexcept { return device_; }
  /// @return null if ranks do not see each other's memory.
  [[nodiscard]] DevicePeers* device_peers() const noexcept { return peers_.get(); }
  /// @param bytes more than zero. @return memory of the GPU that belongs to no stream, and may
  /// outlive this. Throws std::bad_alloc, Error.
  [[nodiscard]] std::shared_ptr<std::byte> allocate_unordered(std::size_t bytes) const;
  /// Clears memory of the GPU, and waits for that. Throws Error.
  void clear_now(std::byte* data, std::size_t bytes);

 private:
  void check_stream(CUstream stream, CUcontext current) const;
  void check_memory(const char* which, const void* data, CUstream stream) const;

  std::shared_ptr<const Device> device_;
  OwnedStream own_stream_{};            // null until own_stream() is called
  std::shared_ptr<DevicePeers> peers_;  // or null
};

}  // namespace tutti::v0::cuda
