/// @file
/// Channel: exchanges texts between the ranks of a world before they are connected.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <tutti/error.hpp>
#include <tutti/export.hpp>

namespace tutti::v0 {

/// The end of a wait.
using Deadline = std::chrono::steady_clock::time_point;

/// An exchange of short texts between all ranks, over a launcher, a file, a socket or the caller's
/// own means. Used a few times while a world starts; one thread at a time.
class TUTTI_API Channel {
 public:
  Channel() = default;
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  virtual ~Channel() = default;

  /// @return the own rank.
  [[nodiscard]] virtual Rank rank() const noexcept = 0;
  /// @return the number of ranks.
  [[nodiscard]] virtual int size() const noexcept = 0;
  /// @return a description for error texts, such as "PMI of Hydra" or "tcp://10.0.0.1:29500".
  [[nodiscard]] virtual std::string describe() const = 0;
  /// @return whether only ranks of this job can read the texts, so that rank 0 may send the job's
  /// secret.
  [[nodiscard]] virtual bool is_private() const noexcept = 0;
  /// Collective: every rank sends a text and receives all.
  /// @param own at most 64 KiB, any bytes.
  /// @return the text of rank r, at r. Throws Error{timeout} that names the missing ranks (and
  /// hosts, if known), Error{peer_dead, transport}.
  [[nodiscard]] virtual std::vector<std::string> all_gather(std::string_view own,
                                                            Deadline deadline) = 0;
  /// Called once the ranks are connected. Another world of the same processes reuses connections
  /// that are still open, and starts much faster. This function stores nothing; a channel of
  /// processes that stay together may store them.
  /// @param connections of this process, closed with their last owner.
  virtual void keep(std::shared_ptr<const void> connections) { (void)connections; }
};

}  // namespace tutti::v0
