/// @file
/// Points in streams.
#pragma once

#include <memory>

#include <tutti/spi/streams.hpp>

#include "device.hpp"

namespace tutti::v0::cuda {

/// @param stream of a call. @return it, as the driver has it.
[[nodiscard]] inline CUstream of(Stream stream) noexcept {
  return static_cast<CUstream>(stream.handle());
}

/// An event of a device, recorded in a stream.
class Event final : public StreamMark {
 public:
  /// Not recorded yet, which counts as done. @param device not null. @param flags as cuEventCreate.
  /// Throws Error{transport}.
  explicit Event(std::shared_ptr<const Device> device, unsigned flags = CU_EVENT_DISABLE_TIMING);
  /// @param device not null. @param stream of it; where it is now. Throws Error{transport}.
  Event(std::shared_ptr<const Device> device, CUstream stream);
  ~Event() override;

  /// From now on it is where a stream is now. @param stream of the device. Throws Error{transport}.
  void record(CUstream stream);

  [[nodiscard]] bool is_done() override;
  /// What is enqueued from now on waits for it. @param stream of the same device. Throws Error.
  void hold(CUstream stream) const;
  /// Both know when they happened. @param start that is done, as this one is. @return microseconds
  /// from there to here. Throws Error{transport}.
  [[nodiscard]] double us_since(const Event& start) const;

 private:
  std::shared_ptr<const Device> device_;
  CUevent event_ = nullptr;
};

}  // namespace tutti::v0::cuda
