/// @file
/// Domain: what a process shares with the other ranks of its host.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include <tutti/alarm.hpp>
#include <tutti/memory.hpp>
#include <tutti/transport.hpp>

#include "directory.hpp"

namespace tutti::shm {

/// A rank of the same host.
struct Neighbour {
  Rank rank;         ///< In the world.
  int segment;       ///< Its segment's file; the caller closes it.
  int process = -1;  ///< Its process, whose memory we read if the system lets us; -1 to do without.
};

/// How a domain behaves.
struct Options {
  bool oversubscribed = false;  ///< Whether ranks outnumber cores.
  /// How long Transport::doze sleeps at most: failures, and ranks that make their end only then,
  /// wake nobody.
  Duration doze = std::chrono::milliseconds{1};
};

/// The own segment and those of the other ranks of the host, shared by all communicators of a
/// process. Calls from several threads at once are safe.
class Domain : public std::enable_shared_from_this<Domain> {
 public:
  /// @param self own rank in the world. @param own segment, which the others have been given.
  /// @param neighbours the other ranks of the host. @param options see Options.
  Domain(Rank self, std::shared_ptr<Segment> own, std::span<const Neighbour> neighbours,
         const Options& options = {});

  /// Makes the transport of a communicator; no other rank need be there yet. Ranks in it count
  /// from 0 in the order of `members`; those that do not share the host cannot be reached.
  /// @param communicator its id, never zero, the same on all its ranks. @param members ranks in the
  /// world, the own one among them. @param alarm of the communicator. @return the transport.
  [[nodiscard]] std::unique_ptr<Transport> transport(std::uint64_t communicator,
                                                     std::span<const Rank> members,
                                                     std::shared_ptr<Alarm> alarm);
  /// @param rank in the world. @return whether it shares the host; the own one does.
  [[nodiscard]] bool reaches(Rank rank) const noexcept { return find(rank) != nullptr; }

  // What transports need.

  /// A rank of the host, the own one too.
  struct Member {
    Rank rank;
    const Mapping* mapping;
    Front* front;
    int process;  ///< If its memory can be read, else -1.
  };
  [[nodiscard]] const Member* find(Rank rank) const noexcept;
  [[nodiscard]] const Member& own() const noexcept { return members_.front(); }
  [[nodiscard]] Segment& segment() noexcept { return *segment_; }
  [[nodiscard]] const Options& options() const noexcept { return options_; }
  /// Makes the own block of a communicator. @return its offset.
  std::uint64_t open(std::uint64_t communicator, std::span<const Rank> members);
  /// Closes it. Its memory is freed once every other member has closed its own, for until then
  /// messages in it may be read.
  void close(std::uint64_t communicator, std::span<const Rank> members) noexcept;

 private:
  struct Closed {
    std::uint64_t communicator;
    std::vector<Rank> members;
  };
  void free_closed() noexcept;
  [[nodiscard]] bool everyone_closed(const Closed& closed) const noexcept;

  std::shared_ptr<Segment> segment_;
  Options options_;
  std::vector<Mapping> mappings_{};  // of the neighbours
  std::vector<Member> members_{};    // the own one first
  std::mutex mutex_{};
  std::vector<Closed> closed_{};
};

/// @param segment where it allocates. @return memory of the host that other ranks of it can read
/// and write in place.
[[nodiscard]] std::shared_ptr<Memory> make_visible_memory(std::shared_ptr<Segment> segment);

}  // namespace tutti::shm
