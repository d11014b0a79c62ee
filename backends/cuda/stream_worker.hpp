/// @file
/// The thread that moves messages of streams.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include <tutti/error.hpp>
#include <tutti/spi/fork_guard.hpp>
#include <tutti/spi/streams.hpp>

#include "event.hpp"
#include "pinned.hpp"
#include "staged_messages.hpp"

namespace tutti::v0::cuda {

/// Moves groups of messages, one after the other in the order in which they are enqueued. A group
/// begins after the earlier work of its stream, which then waits until the group is done. The
/// thread sleeps while there is no group. Any thread may call this, but one at a time enqueues.
class StreamWorker {
 public:
  /// Starts the thread. @param done outlives this. @param timeout of one call of the driver. Throws
  /// Error{transport}, std::system_error.
  StreamWorker(const StagedMessages::Config& config, Milestone& done, Duration timeout);
  StreamWorker(const StreamWorker&) = delete;
  StreamWorker& operator=(const StreamWorker&) = delete;
  /// Aborts pending groups, and ends the thread.
  ~StreamWorker();

  /// Enqueues a group. @param messages none of which is to the own rank. @param stream of the
  /// device. Throws Error, which may be that of an earlier group.
  void enqueue(std::vector<StreamMessage> messages, CUstream stream);
  /// Frees memory after the groups so far: a transport may ask the driver for the kind of memory
  /// that it moves, which the driver forgets in cuMemFreeAsync. @param data of cuMemAllocAsync.
  /// @param stream in whose order; it is not captured. @return false if all groups are done
  /// already, and the caller has to free it. Throws Error{transport}, std::bad_alloc.
  [[nodiscard]] bool release(CUdeviceptr data, CUstream stream);
  /// Throws the first failure.
  void check() const;
  /// Fails all groups. Streams continue within a second or two; this does not wait for them. Other
  /// ranks receive the cause.
  void abort(const Error& cause) noexcept;
  /// Waits until all groups are done, and aborts them after the patience.
  void end(Duration patience) noexcept;

 private:
  struct Group {
    std::uint64_t number;
    std::unique_ptr<Event> ready;  // the earlier work of its stream
    std::vector<StreamMessage> messages;
    std::unique_ptr<DeferredFrees::Wait> wait{};
  };
  /// Memory to be freed.
  struct Release {
    std::uint64_t number;          // of the last group that may use it
    std::unique_ptr<Event> after;  // the last use by its stream
    CUdeviceptr data;
  };
  void run() noexcept;
  void work();
  void watch();
  [[nodiscard]] const Group* next();
  void await(Event& ready);
  void move(const Group& group);
  void pause(unsigned idle);
  void complete(std::uint64_t number);
  void check_abort() const;
  void fail(const Error& cause) noexcept;
  void release_up_to(std::uint64_t number) noexcept;

  std::shared_ptr<const Device> device_;
  const Duration timeout_;
  Transport& transport_;
  const int spins_;  // before the thread sleeps in the transport
  Milestone& done_;  // the number of the last group that is done
  StagedMessages staged_;
  ForkGuard guard_{};
  mutable std::mutex mutex_{};
  std::condition_variable changed_{};
  std::deque<Group> groups_{};           // not done; only the thread removes one
  std::deque<Release> releases_{};       // oldest first
  std::uint64_t enqueued_ = 0;           // groups so far; of the thread that enqueues
  bool is_ending_ = false;               // whether no group will follow
  bool has_ended_ = false;               // whether the thread does nothing any more
  std::optional<Error> failure_{};       // the first one
  std::atomic<bool> is_aborted_{false};  // whether the thread has to fail
  std::thread thread_{};
  std::thread watch_{};  // finds out that the driver holds up the other one
};

}  // namespace tutti::v0::cuda
