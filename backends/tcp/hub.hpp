/// @file
/// Hub: what the communicators of a process share, behind one mutex: links and matching.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <poll.h>

#include <tutti/spi/fork_guard.hpp>

#include "fabric.hpp"
#include "port.hpp"

namespace tutti::tcp {

/// What the communicators of a process share. Whoever calls holds the mutex.
class Hub {
 public:
  /// See Fabric.
  Hub(Rank self, const std::vector<Peer>& peers, const Options& options);
  Hub(const Hub&) = delete;
  Hub& operator=(const Hub&) = delete;
  /// See Fabric.
  ~Hub();

  /// @return what tells the process that made it from its children, which must not even lock the
  /// mutex: a thread that they do not have may have it.
  [[nodiscard]] const ForkGuard& guard() const noexcept { return guard_; }
  /// @return the mutex that guards everything here.
  [[nodiscard]] std::mutex& mutex() noexcept { return mutex_; }
  /// @return what it was made with.
  [[nodiscard]] const Options& options() const noexcept { return options_; }
  /// @return frames for communicators that are gone.
  [[nodiscard]] std::uint64_t dropped() const noexcept { return dropped_; }

  /// See Fabric.
  void add(const std::vector<Peer>& peers);
  /// Begins a communicator. @param id its number. @param members ranks in the world. @return its
  /// end here.
  [[nodiscard]] std::unique_ptr<Port> open(std::uint64_t id, const std::vector<Rank>& members);
  /// Ends a communicator. @param port from open, stopped.
  void close(const Port& port) noexcept;
  /// Forgets everything under way; the pieces of the transfers are not touched any more.
  /// @param port whose.
  void stop(Port& port) noexcept;

  /// Starts a transfer. What goes wrong becomes the port's failure. @param port whose.
  /// @param transfer what.
  void post(Port& port, const Transfer& transfer);
  /// Writes what post made. @param port whose. @param transfers what was posted.
  void flush(Port& port, std::span<const Transfer> transfers);
  /// Moves bytes over the links that a communicator waits for, and now and then over those that the
  /// others wait for: their peers may be what this one's peers wait for. @param port which.
  void progress(Port& port);
  /// As Transport::find_unmatched; what is found becomes the port's failure. @param port which.
  /// @param pending as in is_unmatched. @param thoroughly whether to read all links.
  void find_unmatched(Port& port, std::uint64_t pending, bool thoroughly);
  /// As Transport::probe. @param port which. @param from a rank or any_rank. @param tag as there.
  /// @return the message.
  [[nodiscard]] std::optional<Unexpected> probe(Port& port, Rank from, std::uint32_t tag);
  /// Sends what ciphers have taken and still hold back, whoever it is for. What has not left may
  /// not be called sent: its sender may call nothing for long. @return whether nothing is held
  /// back.
  [[nodiscard]] bool send_owed();
  /// Lists what to sleep on. @param port which. @param descriptors filled anew: the links that the
  /// communicator waits for; none if it has something to do already.
  void list_awaited(const Port& port, std::vector<pollfd>& descriptors);

 private:
  // Sending: hub_send.cpp
  void post_send(Port& port, const Transfer& transfer);
  void send_to_self(Port& port, Outbound& message);
  void begin_message(Link& link, Outbound& message) const;
  void enqueue(Link& link, Outbound& message) noexcept;
  void next_frame(Link& link, Outbound& message);
  void send_control(Link& link, const Header& header);
  void flush(Link& link);
  void account(Link& link, std::uint64_t bytes);
  void end_frame(Link& link, Outbound& message);
  void stop_sending(Link& link, const Port& port);

  // Reading: hub_read.cpp
  void read(Link& link);
  template <std::size_t kMost>
  [[nodiscard]] std::size_t list_target(Link& link, Vectors<kMost>& vectors);
  void absorb(Link& link, std::size_t bytes);
  void absorb(Link& link, std::span<const std::byte> bytes);
  [[nodiscard]] bool parse(Link& link);
  void end_payload(Link& link);
  void service(Link& link);
  void lose(Link& link, Loss loss);

  // Matching: hub_match.cpp
  void post_receive(Port& port, const Transfer& transfer);
  void receive_from_self(Port& port, Receive& receive);
  void copy_to_self(Port& port, Outbound& message, Receive& receive);
  [[nodiscard]] bool arrive(Link& link, const Header& header);
  [[nodiscard]] bool begin_inbound(Link& link, const Header& header);
  [[nodiscard]] bool resume_inbound(Link& link, const Header& header);
  [[nodiscard]] bool take_grant(Link& link, const Header& header);
  void admit(Port& port, Inbound& message);
  void attach(Port& port, Inbound& message, Receive& receive);
  void complete_inbound(Inbound& message);
  [[nodiscard]] bool drop(Link& link, std::uint64_t charge);
  [[nodiscard]] bool reject(Link& link, std::string_view why);
  void hold(Inbound& message);
  void release(Inbound& message);
  void forget(Inbound& message);
  void give_back(Link& link, std::uint64_t credit);
  template <class Take>
  [[nodiscard]] static bool guard(Port& port, Take take);

  [[nodiscard]] static pollfd wish_of(const Link& link) noexcept;
  struct Leaving {
    Link* link;
    int unacknowledged = 0;                            // bytes
    std::chrono::steady_clock::time_point progress{};  // when there were fewer
  };
  [[nodiscard]] bool has_left(Leaving& one) noexcept;
  [[nodiscard]] Port* find(std::uint64_t id) noexcept;
  void stop(Member& member, const Port& port) noexcept;
  void stop_receiving(Link& link, const Port& port);
  [[nodiscard]] std::optional<Unexpected> probe_member(Port& port, Rank from, std::uint32_t tag);
  static void fail_by_loss(Port& port, Rank rank, const Loss& loss);

  ForkGuard guard_{};
  std::mutex mutex_{};
  Rank self_;
  Options options_;
  FrameLimits limits_;
  bool encrypts_ = false;                           // whether there are ciphers
  std::pmr::unsynchronized_pool_resource nodes_{};  // of the links' tables
  std::vector<std::unique_ptr<Link>> links_{};      // by rank in the world; null for the own
  std::unordered_map<std::uint64_t, Port*> ports_{};
  Port* last_found_ = nullptr;                // most frames are for the same communicator
  std::unordered_set<std::uint64_t> gone_{};  // communicators that have ended
  std::deque<std::uint64_t> gone_order_{};    // the same, the oldest in front
  Queue<Inbound> early_{};                    // messages to communicators yet to be made
  std::uint64_t dropped_ = 0;

  std::uint32_t polls_ = 0;  // calls of progress

  Pool<Receive> receives_{};
  Pool<Inbound> inbounds_{};
  Pool<Outbound> outbounds_{};
  Buffers buffers_{};
  Buffer warm_;                         // what combiners look at
  Buffer waste_;                        // what nobody wants
  std::vector<Link*> awaited_links_{};  // scratch of progress
  std::vector<pollfd> descriptors_{};   // scratch of progress
};

// What a combiner throws is its own communicator's, and the poll that meets it may be another's.
template <class Take>
bool Hub::guard(Port& port, Take take) {
  try {
    take();
    return true;
  } catch (const Error& error) {
    port.fail(error);
  } catch (const std::exception& error) {
    port.fail({ErrorCode::aborted, std::string{"an exception ended a reduction: "} + error.what()});
  }
  return false;
}

}  // namespace tutti::tcp
