/// @file
/// The first messages of calls that start together.
#pragma once

#include <span>
#include <vector>

#include <tutti/spi/transport.hpp>

namespace tutti::v0::detail {

/// Keeps the first messages of calls that start together, and posts them at once.
class Outbox {
 public:
  explicit Outbox(Transport& transport) noexcept : transport_{transport} {}
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  [[nodiscard]] Transport& transport() noexcept { return transport_; }
  /// @return whether messages are kept for flush().
  [[nodiscard]] bool gathers() const noexcept { return gathers_; }
  /// Keeps messages, if gathers(). @param transfers whose pieces outlive the flush.
  void add(std::span<const Transfer> transfers) {
    gathered_.insert(gathered_.end(), transfers.begin(), transfers.end());
  }
  /// Keeps messages from now on.
  void gather() noexcept { gathers_ = true; }
  /// Posts all kept messages in one call, and keeps no more.
  void flush() {
    gathers_ = false;
    if (!gathered_.empty()) transport_.post(gathered_);
    gathered_.clear();
  }
  /// Drops all kept messages, and keeps no more.
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
