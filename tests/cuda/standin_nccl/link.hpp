/// @file
/// The connection of one rank with another. Messages go over one socket; over a second one a rank
/// says which messages it has received, and that it leaves.
#pragma once

#include <array>
#include <deque>
#include <vector>

#include <poll.h>

#include "socket.hpp"
#include "stage.hpp"

namespace tutti::nccl_standin {

class Link {
 public:
  Link() = default;
  Link(Socket data, Socket control) : data_{std::move(data)}, control_{std::move(control)} {}

  void enqueue(const Send& send);
  void enqueue(const Receive& receive);

  /// Does what can be done without waiting. @return whether anything was. Throws Failure if the
  /// peer is gone, or has sent another message than the one that was waited for.
  bool progress();
  /// @return whether messages are left. One is sent once the peer has received it: as with NCCL, no
  /// rank may count on a message being stored on its way.
  bool is_busy() const noexcept;
  /// Adds what has to happen before progress can be made.
  void add_events(std::vector<pollfd>& events) const;

  /// Reads what the peer has said. @return whether it has said anything. Throws Failure if it is
  /// gone without having left.
  bool listen();
  /// Tells the peer that this rank has no more to send.
  void leave() const noexcept;
  void shut_down() const noexcept;

 private:
  struct Header {
    std::uint64_t bytes = 0;
    Purpose purpose{};
    Registered registered{};
  };
  struct Outgoing {
    Header header;
    const std::byte* from = nullptr;
    std::size_t sent = 0;  ///< Bytes of header and message together.
  };
  struct Incoming {
    Header expected;
    std::byte* into = nullptr;
    std::size_t received = 0;  ///< Bytes of header and message together.
    std::array<std::byte, sizeof(Header)> header{};
  };

  bool progress_sends();
  bool progress_receives();
  bool progress_acknowledgements();
  std::size_t receive_part(Incoming& message) const;

  Socket data_;
  Socket control_;
  std::deque<Outgoing> outgoing_;
  std::deque<Incoming> incoming_;
  std::size_t unacknowledged_ = 0;  ///< Messages sent that the peer has not received yet.
  std::size_t owed_ = 0;            ///< Received messages to be acknowledged to the peer.
  bool peer_left_ = false;
};

}  // namespace tutti::nccl_standin
