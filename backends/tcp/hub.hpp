/// @file
/// The links that the communicators of a process share, behind one mutex.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include <poll.h>

#include <tutti/spi/fork_guard.hpp>

#include "reader.hpp"

namespace tutti::tcp {

/// The links of a process and the communicators that use them. Schedules reads and writes of links,
/// and ends the transfers of a lost link. The caller holds the mutex.
class Hub {
 public:
  /// See Fabric.
  Hub(Rank self, const std::vector<Peer>& peers, const Options& options);
  Hub(const Hub&) = delete;
  Hub& operator=(const Hub&) = delete;
  /// See Fabric.
  ~Hub();

  /// @return the guard that recognises forked children, which must not even lock the mutex: another
  /// thread of the parent may have locked it.
  [[nodiscard]] const ForkGuard& guard() const noexcept { return guard_; }
  /// @return the mutex that guards everything here.
  [[nodiscard]] std::mutex& mutex() noexcept { return mutex_; }
  [[nodiscard]] const Options& options() const noexcept { return options_; }
  /// See Fabric.
  [[nodiscard]] std::uint64_t dropped() const noexcept { return receiver_.dropped(); }

  /// See Fabric.
  void add(const std::vector<Peer>& peers);
  /// Sends all pending bytes, as the destructor does. Nothing is sent or received afterwards.
  void end_links() noexcept;
  /// Begins a communicator. @param id its number. @param members ranks in the world.
  [[nodiscard]] std::unique_ptr<Port> open(std::uint64_t id, const std::vector<Rank>& members);
  /// Ends a communicator. @param port from open, stopped.
  void close(const Port& port) noexcept { ports_.remove(port); }
  /// Drops all pending transfers, whose pieces are not touched any more.
  void stop(Port& port) noexcept;

  /// Starts a transfer. An operating error becomes the port's failure.
  void post(Port& port, const Transfer& transfer);
  /// Writes the frames of posted transfers.
  void flush(Port& port, std::span<const Transfer> transfers);
  /// Moves bytes over the links that a communicator waits for. Sometimes it also moves those of
  /// other communicators, since this one's peers may wait for their peers.
  void progress(Port& port);
  /// As Transport::find_unmatched; an error becomes the port's failure. @param pending as in
  /// is_unmatched. @param thoroughly whether to read all links.
  void find_unmatched(Port& port, std::uint64_t pending, bool thoroughly);
  /// As Transport::probe.
  [[nodiscard]] std::optional<Unexpected> probe(Port& port, Rank from, std::uint32_t tag);
  /// Sends the bytes of all links that ciphers have accepted but not sent. No send completes
  /// before, since this rank may not call tutti for long afterwards. @return whether all are sent.
  [[nodiscard]] bool send_accepted();
  /// Lists the descriptors to sleep on. @param descriptors replaced by the links that the
  /// communicator waits for; none if it has something to do already.
  void list_awaited(const Port& port, std::vector<pollfd>& descriptors);

 private:
  struct Closing {
    Link* link;
    int unacknowledged = 0;                            // bytes
    std::chrono::steady_clock::time_point progress{};  // when they last became fewer
  };
  [[nodiscard]] bool is_closed(Closing& closing) noexcept;
  [[nodiscard]] static pollfd events_of(const Link& link) noexcept;
  void read(Link& link);
  void read_and_write(Link& link);
  void abandon(Link& link);
  void stop(Port& port, Rank rank) noexcept;

  ForkGuard guard_{};
  std::mutex mutex_{};
  Rank self_;
  Options options_;
  bool encrypts_ = false;                           // whether there are ciphers
  std::pmr::unsynchronized_pool_resource nodes_{};  // of the links' tables
  std::vector<std::unique_ptr<Link>> links_{};      // by rank in the world; null for the own
  Ports ports_{};
  Sender sender_{options_};
  Receiver receiver_{options_, sender_, ports_};
  Reader reader_{options_, receiver_};
  std::uint32_t polls_ = 0;             // calls of progress
  std::vector<Link*> awaited_links_{};  // scratch of progress
  std::vector<pollfd> descriptors_{};   // scratch of progress
};

}  // namespace tutti::tcp
