/// @file
/// Streams that run at once, for tests of what is enqueued on them: a thread for each rank, host
/// memory in place of a device's, and messages that nothing keeps, so that a schedule which needed
/// that would never end.
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <tutti/spi/streams.hpp>

namespace tutti::harness {

/// Where ranks meet.
class StreamHub {
 public:
  /// @param rank whose. @return what its communicator enqueues on. The hub outlives it.
  [[nodiscard]] std::shared_ptr<StreamTransport> transport(Rank rank);
  /// @return allocations that are not given back yet.
  [[nodiscard]] int live() const noexcept { return live_; }
  /// The exchange after so many others fails. @param exchanges how many, of all ranks.
  void fail_after(int exchanges) { left_ = exchanges; }

  /// What a rank enqueues.
  void exchange(Rank self, std::span<const StreamMessage> messages);
  /// Wakes all. @param cause what they throw.
  void abort(const Error& cause) noexcept;
  /// Throws what abort was told.
  void check();
  /// One more allocation, or one fewer.
  void count(int change);

 private:
  struct Pending {
    StreamMessage message;
    bool is_done = false;
  };
  using Queue = std::deque<Pending*>;
  void match(Queue& sends, Queue& receives);

  std::mutex mutex_{};
  std::condition_variable changed_{};
  std::map<std::pair<Rank, Rank>, std::pair<Queue, Queue>> routes_{};  // sends and receives
  std::optional<Error> failure_{};
  std::optional<int> left_{};  // exchanges
  int live_ = 0;
};

}  // namespace tutti::harness
