/// @file
/// The memory that a process shares with the other ranks of its host.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include <tutti/spi/failure_signal.hpp>
#include <tutti/spi/memory.hpp>
#include <tutti/spi/transport.hpp>

#include "process_copies.hpp"
#include "regions.hpp"

namespace tutti::shm {

/// A rank of the same host.
struct Neighbour {
  Rank rank;    ///< In the world.
  int segment;  ///< Its segment's file; the caller closes it.
};

/// Options of a communicator.
struct Options {
  bool oversubscribed = false;  ///< Whether ranks outnumber cores.
  bool reads_processes = true;  ///< Whether the system may copy messages between processes.
  /// The longest sleep in Transport::idle_wait. Failures, and ranks that make the communicator
  /// during the sleep, do not end it.
  Duration idle_wait = std::chrono::milliseconds{1};
};

/// The own segment and those of the other ranks of the host, shared by all communicators of a
/// process. Calls from several threads at once are safe.
class Domain : public std::enable_shared_from_this<Domain> {
 public:
  /// @param self own rank in the world. @param own segment, which the others have mapped too.
  /// @param neighbours the known other ranks of the host.
  Domain(Rank self, std::shared_ptr<Segment> own, std::span<const Neighbour> neighbours);
  /// Adds a rank of the host. Throws Error{transport}. @param neighbour a new one.
  void add(const Neighbour& neighbour);
  /// Adds another number of a known rank. @param rank the new number. @param same the known rank,
  /// which has the same segment.
  void add_again(Rank rank, Rank same);

  /// Makes the transport of a communicator, before or after other ranks do. Its ranks count from 0
  /// in the order of `members`; ranks that do not share the host cannot be reached.
  /// @param communicator its id, never zero, the same on all its ranks. @param members ranks in the
  /// world, the own one among them. @param failure_signal of the communicator.
  [[nodiscard]] std::unique_ptr<Transport> transport(std::uint64_t communicator,
                                                     std::span<const Rank> members,
                                                     std::shared_ptr<FailureSignal> failure_signal,
                                                     const Options& options = {});
  /// @param rank in the world. @return whether it shares the host, as the own rank does.
  [[nodiscard]] bool reaches(Rank rank) const { return find(rank) != nullptr; }

  // For transports.

  /// A rank of the host; it may be the own one.
  struct Member {
    Rank rank;
    const Mapping* mapping;
    Front* front;
  };
  [[nodiscard]] const Member* find(Rank rank) const;
  [[nodiscard]] const Member& own() const noexcept { return members_.front(); }
  [[nodiscard]] Segment& segment() noexcept { return *segment_; }
  /// @return own memory outside the segment that other ranks see.
  [[nodiscard]] Regions& regions() noexcept { return regions_; }
  /// @return the offset in the own segment at which a rank sees own memory, or nothing if it does
  /// not see all of it.
  [[nodiscard]] std::optional<std::uint64_t> find_offset(const std::byte* data, std::size_t bytes,
                                                         const Member& reader) const noexcept {
    if (segment_->contains(data, bytes))
      return static_cast<std::uint64_t>(data - segment_->mapping().base());
    return regions_.find(data, bytes, *reader.mapping);
  }
  /// Makes the own block of a communicator. @return its offset.
  std::uint64_t open(std::uint64_t communicator, std::span<const Rank> members);
  /// Allocates more memory for an open communicator. @return its offset. Throws std::bad_alloc.
  [[nodiscard]] std::uint64_t extend(std::uint64_t communicator, std::size_t bytes);
  /// Closes a communicator. Its memory is freed once every other member has closed its own, since
  /// they may read messages in it until then.
  void close(std::uint64_t communicator) noexcept;
  /// Closes all communicators, but frees nothing: other threads may use them. @return false if
  /// another thread keeps the domain until `deadline`.
  [[nodiscard]] bool leave(std::chrono::steady_clock::time_point deadline) noexcept;
  /// Frees communicators that all members have closed. Costs a load if none was closed here.
  void free_closed() noexcept {
    if (has_closed_.load(std::memory_order_relaxed)) sweep();
  }

 private:
  struct Opened {
    Entry* entry = nullptr;
    std::vector<Rank> members{};           // other ranks of the host
    std::vector<std::uint64_t> offsets{};  // its memory; the block first
  };
  [[nodiscard]] const Member* find_locked(Rank rank) const noexcept;
  void sweep() noexcept;
  void sweep_locked() noexcept;
  [[nodiscard]] bool end(std::uint64_t communicator, const Opened& opened) noexcept;

  std::shared_ptr<Segment> segment_;
  ReadableProcess process_{};
  Regions regions_{};
  mutable std::mutex mutex_{};      // guards all below, except the first of members_
  std::deque<Mapping> mappings_{};  // of the neighbours; members point at them
  std::deque<Member> members_{};    // the own one first; transports point at them
  std::unordered_map<std::uint64_t, Opened> opened_{};  // until no rank needs its entry
  std::vector<std::uint64_t> closed_{};                 // closed here, and not freed
  std::atomic<bool> has_closed_{false};
};

/// @param segment in which it allocates. @return memory that other ranks of the host can read and
/// write in place.
[[nodiscard]] std::shared_ptr<Memory> make_visible_memory(std::shared_ptr<Segment> segment);

}  // namespace tutti::shm
