/// @file
/// Outbox: the messages of calls that start together.
#pragma once

#include <span>
#include <vector>

#include <tutti/spi/transport.hpp>

namespace tutti::v0::detail {

/// Keeps the first messages of calls that start together, and posts them at once.
class Outbox {
 public:
  /// @param transport to which messages go.
  explicit Outbox(Transport& transport) noexcept : transport_{transport} {}
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  [[nodiscard]] Transport& transport() noexcept { return transport_; }
  /// @return whether messages are kept for the flush.
  [[nodiscard]] bool gathers() const noexcept { return gathers_; }
  /// Keeps messages, where it gathers. @param transfers whose pieces stay where they are.
  void add(std::span<const Transfer> transfers) {
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
