/// @file
/// Objects from one rank to another.
#pragma once

#include <optional>
#include <utility>

#include "object_operation.hpp"

namespace tutti::v0::detail {

/// A message of one object: a frame, and the bytes of a large object behind it, with the same tag.
class ObjectMessage final : public ObjectOperation {
 public:
  /// As ObjectOperation::make.
  ObjectMessage(Engine& engine, ObjectCall call);

  void prepare() override;
  void started() override {}
  void drop_pending() noexcept override;
  [[nodiscard]] std::uint32_t positions() const noexcept override { return 0; }
  [[nodiscard]] std::optional<std::pair<Rank, int>> receives() const noexcept override {
    if (done() || is_sender()) return std::nullopt;
    return std::pair{call_.peer, call_.tag};
  }
  [[nodiscard]] Rank giver(std::size_t /*index*/) const noexcept override { return call_.peer; }

 private:
  [[nodiscard]] bool is_sender() const noexcept { return call_.kind == ObjectCall::Kind::send; }
  void start() override;
  void end_round() override;
  void start_frame();
  void check_frame();
  [[nodiscard]] Call frame_call() noexcept;
  [[nodiscard]] Call bytes_call(std::span<std::byte> bytes) const noexcept;

  bool has_frame_ = false;  // the frame has been received
};

}  // namespace tutti::v0::detail
