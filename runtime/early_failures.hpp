/// @file
/// EarlyFailures: failures of communicators that this process has not made yet.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "control_message.hpp"

namespace tutti::runtime {

/// Keeps the first cause of each such communicator; the oldest are dropped where there are many.
class EarlyFailures {
 public:
  /// A failure that others reported.
  struct Early {
    std::uint64_t communicator = 0;  ///< Its id.
    ControlMessage cause{};          ///< A verdict, or the first cause by `precedes`.
    std::vector<Rank> reporters{};   ///< Ranks in the world that reported it.
  };
  /// @param reporter rank in the world. @param message a failure or a verdict.
  void keep(Rank reporter, const ControlMessage& message);
  /// @param communicator that this process makes now. @return its failure, which is kept no longer.
  [[nodiscard]] std::optional<Early> extract(std::uint64_t communicator);

 private:
  std::deque<Early> kept_{};
};

}  // namespace tutti::runtime
