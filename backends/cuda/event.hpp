/// @file
/// Points in streams.
#pragma once

#include <memory>

#include <tutti/spi/streams.hpp>

#include "device.hpp"

namespace tutti::v0::cuda {

/// @return the driver's handle of a call's stream.
[[nodiscard]] inline CUstream of(Stream stream) noexcept {
  return static_cast<CUstream>(stream.handle());
}

/// An event of a device, recorded in a stream.
class Event final : public StreamMark {
 public:
  /// An event that is not recorded yet, which counts as done. @param flags as cuEventCreate. Throws
  /// Error{transport}.
  explicit Event(std::shared_ptr<const Device> device, unsigned flags = CU_EVENT_DISABLE_TIMING);
  /// Records the event at once. Throws Error{transport}.
  Event(std::shared_ptr<const Device> device, CUstream stream);

  /// Moves the event to the present end of a stream of the device. Throws Error{transport}.
  void record(CUstream stream);
  [[nodiscard]] bool is_done() override;
  /// Makes later work of a stream of the device wait for the event. Throws Error{transport}.
  void hold(CUstream stream) const;
  /// @param start an event that is done, as this one is; both with timing. @return microseconds
  /// between them. Throws Error{transport}.
  [[nodiscard]] double us_since(const Event& start) const;

 private:
  std::shared_ptr<const Device> device_;
  OwnedEvent event_{};
};

}  // namespace tutti::v0::cuda
