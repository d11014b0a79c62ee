/// @file
/// The thread that moves what streams hand over.
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

/// Moves groups of messages, one after the other in the order in which they are enqueued, each
/// after what its stream had to do before; its stream waits until the group is done. The thread
/// sleeps where there is no group. Any thread may call this, but one at a time enqueues.
class StreamWorker {
 public:
  /// Starts the thread. @param parts see there. @param done which nobody has reached yet; it lives
  /// longer. Throws Error{transport}, std::system_error.
  StreamWorker(const StagedMessages::Parts& parts, Milestone& done);
  StreamWorker(const StreamWorker&) = delete;
  StreamWorker& operator=(const StreamWorker&) = delete;
  /// Ends the thread, and what is under way. See end.
  ~StreamWorker();

  /// Enqueues a group on a stream. @param messages of which none is to the own rank. @param stream
  /// of the device, whose context is current. Throws Error, also what failed before.
  void enqueue(std::vector<StreamMessage> messages, CUstream stream);
  /// Gives memory back behind the groups so far: whatever moves their messages may ask what memory
  /// that is, which nobody knows after cuMemFreeAsync. @param data of cuMemAllocAsync. @param
  /// stream in whose order, which is not captured. @return whether that is taken care of; if not,
  /// all groups are done. Throws Error{transport}, std::bad_alloc.
  [[nodiscard]] bool release(CUdeviceptr data, CUstream stream);
  /// Throws what failed.
  void check() const;
  /// Fails all that is under way; streams go on within a second or two. Does not wait for that.
  /// @param cause what other ranks are told.
  void abort(const Error& cause) noexcept;
  /// Waits until all groups are done. @param patience for so long; then it is aborted.
  void end(Duration patience) noexcept;

 private:
  /// What was enqueued.
  struct Group {
    std::uint64_t number;
    std::unique_ptr<Event> ready;  // what came before in its stream
    std::vector<StreamMessage> messages;
  };
  /// Memory to be given back.
  struct Release {
    std::uint64_t number;          // of the last group that may use it
    std::unique_ptr<Event> after;  // what its stream may do with it
    CUdeviceptr data;
  };
  void run() noexcept;
  void work();
  [[nodiscard]] const Group* next();
  void await(Event& ready);
  void move(const Group& group);
  void rest(unsigned idle);
  void take_front(std::uint64_t number);
  void check_abort() const;
  void fail(const Error& cause) noexcept;
  void release_up_to(std::uint64_t number) noexcept;

  std::shared_ptr<const Device> device_;
  Transport& transport_;
  const int spins_;  // before the thread rests
  Milestone& done_;  // the number of the last group that is
  StagedMessages staged_;
  ForkGuard guard_{};
  mutable std::mutex mutex_{};
  std::condition_variable changed_{};
  std::deque<Group> groups_{};           // that are not done; the thread alone takes one out
  std::deque<Release> releases_{};       // oldest first
  std::uint64_t enqueued_ = 0;           // groups so far, for whoever enqueues
  bool is_ending_ = false;               // there will be no more
  bool has_ended_ = false;               // the thread does nothing any more
  std::optional<Error> failure_{};       // the first
  std::atomic<bool> is_aborted_{false};  // whether that is for the thread to see
  std::thread thread_{};
};

}  // namespace tutti::v0::cuda
