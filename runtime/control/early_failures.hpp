/// @file
/// EarlyFailures: failures of communicators that this process has not made yet.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "control_message.hpp"

namespace tutti::runtime {

/// Stores the first cause of each such communicator, of the latest 256.
class EarlyFailures {
 public:
  /// A failure that other ranks reported.
  struct EarlyFailure {
    std::uint64_t communicator = 0;
    ControlMessage cause{};         ///< A decision, or the first cause by `precedes`.
    std::vector<Rank> reporters{};  ///< By their ranks in the world.
  };
  /// @param reporter rank in the world. @param message a failure or a decision.
  void store(Rank reporter, const ControlMessage& message);
  /// Removes the failure of a communicator that this process makes now. @return it.
  [[nodiscard]] std::optional<EarlyFailure> extract(std::uint64_t communicator);

 private:
  std::deque<EarlyFailure> failures_{};
};

}  // namespace tutti::runtime
