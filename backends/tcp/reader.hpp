/// @file
/// The reader of frames from sockets.
#pragma once

#include "receiver.hpp"

namespace tutti::tcp {

/// Reads frames: lets the system write payloads directly to their destination, and checks sums. The
/// caller holds the hub's mutex.
class Reader {
 public:
  /// @param options and @param receiver outlive this.
  Reader(const Options& options, Receiver& receiver)
      : limits_{options.eager_bytes, options.fragment_bytes}, receiver_{receiver},
        warm_{options.warm_bytes}, unwanted_{options.warm_bytes} {}

  /// Reads the bytes that have arrived. @param link usable. @return whether it still is; if not,
  /// link.loss has the reason.
  [[nodiscard]] bool read(Link& link);
  /// Reads and drops. @param socket of a link that is about to be closed. @return as Socket::read.
  [[nodiscard]] Moved discard(Socket& socket) const noexcept;

 private:
  template <std::size_t kMost>
  [[nodiscard]] std::size_t list_target(Link& link, Vectors<kMost>& vectors);
  void account(Link& link, std::size_t bytes);
  void store(Link& link, std::span<const std::byte> bytes);
  [[nodiscard]] bool parse(Link& link);
  [[nodiscard]] bool begin_frame(Link& link, std::span<const std::byte> bytes);
  [[nodiscard]] bool end_frame(Link& link);

  FrameLimits limits_;
  Receiver& receiver_;
  Buffer warm_;      // payloads for combiners
  Buffer unwanted_;  // payloads that are dropped
};

}  // namespace tutti::tcp
