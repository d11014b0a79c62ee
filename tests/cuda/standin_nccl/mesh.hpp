/// @file
/// All connections of one rank of a communicator.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <vector>

#include "agreement.hpp"
#include "driver.hpp"
#include "link.hpp"

namespace tutti::nccl_standin {

/// A rank of a communicator.
struct Membership {
  std::string name;  ///< The communicator's name, from the unique id.
  int rank = 0;
  int size = 1;
};

class Mesh {
 public:
  Mesh();

  /// Once it is connected.
  const Membership& membership() const noexcept { return membership_; }

  /// Waits for all ranks and connects with them. Throws Failure if that fails, or if two ranks have
  /// the same device.
  void connect(Membership membership, const Device& device);

  /// Sends and receives messages; ends when all are at their destinations. Throws Failure.
  void exchange(const Stage& stage);

  /// Tells all ranks something, and waits until all have. One thread at a time may do that, also
  /// during an exchange. @param other ends this as well when it is stopped.
  /// @return the notes, by rank. Throws Failure.
  std::vector<Note> exchange(const Note& own, const Mesh& other);

  /// Throws Failure if a peer is gone without having left. Does nothing during an exchange, which
  /// finds this out by itself.
  void check_peers();

  /// Tells the peers that this rank leaves.
  void leave();

  /// Ends what another thread does here, for good, with a Failure. The peers find their connections
  /// closed.
  void stop() noexcept;
  bool is_stopped() const noexcept { return stopped_; }

 private:
  void require_going_on() const;
  void wait(std::vector<pollfd>& events, int timeout_ms) const;
  static void copy_own(int rank, const Stage& stage);

  pollfd wake_event() const { return {.fd = wake_.file(), .events = POLLIN, .revents = 0}; }

  Membership membership_;
  Socket wake_;  ///< Readable once this is stopped.
  std::atomic<bool> stopped_{false};
  std::mutex exchanging_;
  std::mutex
      links_mutex_;  ///< Held while the links are put in place, and while they are shut down.
  std::vector<Link> links_;      ///< By rank; the own one is empty.
  std::vector<Socket> sockets_;  ///< For notes, by rank.
};

}  // namespace tutti::nccl_standin
