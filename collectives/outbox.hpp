/// @file
/// Outbox: messages on their way to the transport, one by one or many at once.
#pragma once

#include <span>
#include <vector>

#include <tutti/spi/transport.hpp>

namespace tutti::v0::detail {

/// Where executions post.
class Outbox {
 public:
  /// @param transport to which messages go.
  explicit Outbox(Transport& transport) noexcept : transport_{transport} {}
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  [[nodiscard]] Transport& transport() noexcept { return transport_; }
  /// Posts, or keeps for the flush. What it throws fails the communicator. @param transfers whose
  /// pieces stay where they are.
  void post(std::span<const Transfer> transfers) {
    if (!gathers_) return transport_.post(transfers);
    gathered_.insert(gathered_.end(), transfers.begin(), transfers.end());
  }
  /// From now on messages are kept.
  void gather() noexcept { gathers_ = true; }
  /// Posts what was kept, at once, and keeps no more.
  void flush() {
    gathers_ = false;
    if (!gathered_.empty()) transport_.post(gathered_);
    gathered_.clear();
  }
  /// Forgets what was kept, and keeps no more.
  void drop() noexcept {
    gathers_ = false;
    gathered_.clear();
  }

 private:
  Transport& transport_;
  bool gathers_ = false;
  std::vector<Transfer> gathered_{};
};

}  // namespace tutti::v0::detail
