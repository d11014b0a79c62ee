/// @file
/// Channel: how the ranks of a world reach each other before they have connections.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <tutti/error.hpp>
#include <tutti/export.hpp>

namespace tutti::v0 {

/// The instant by which something must have happened.
using Deadline = std::chrono::steady_clock::time_point;

/// What a launcher, a file, a socket or a caller's own means offer: an exchange of short texts
/// between all ranks. Used a few times while a world starts; one thread at a time.
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
  /// @return what it is, for a person, such as "PMI of Hydra" or "tcp://10.0.0.1:29500".
  [[nodiscard]] virtual std::string describe() const = 0;
  /// @return whether only ranks of this job can read what is said, so that rank 0 may draw the
  /// job's secret and say it here.
  [[nodiscard]] virtual bool is_private() const noexcept = 0;
  /// Collective: every rank says something and hears everyone.
  /// @param own at most 64 KiB, any bytes. @param deadline after which missing ranks are reported.
  /// @return what rank r said, at r. Throws Error{timeout} that names the ranks (and, where known,
  /// hosts) that are missing, Error{peer_dead, transport}.
  [[nodiscard]] virtual std::vector<std::string> all_gather(std::string_view own,
                                                            Deadline deadline) = 0;
  /// Called once the ranks are connected. Another world of the same processes uses their
  /// connections if these are still open then, and starts much faster. Here nothing is kept; a
  /// channel of processes that stay together may keep them. @param connections of this process,
  /// closed with their last owner.
  virtual void keep(std::shared_ptr<const void> connections) { (void)connections; }
};

}  // namespace tutti::v0
