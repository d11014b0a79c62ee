/// @file
/// Streams that run at once, for tests of what is enqueued on them: a thread for each rank, host
/// memory in place of a device's, and messages that nothing keeps, so that a schedule which needed
/// that would never end.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <tutti/communicator.hpp>
#include <tutti/spi/streams.hpp>

namespace tutti::harness {

/// The meeting point of ranks.
class StreamHub {
 public:
  /// @param size ranks.
  explicit StreamHub(int size) : size_{size} {}
  [[nodiscard]] int size() const noexcept { return size_; }
  /// @param rank whose. @return what its communicator enqueues on. The hub outlives it.
  [[nodiscard]] std::shared_ptr<StreamTransport> transport(Rank rank);
  /// @return allocations that are not given back yet.
  [[nodiscard]] int live() const noexcept { return live_; }
  /// The exchange after this number of others fails. @param exchanges of all ranks.
  void fail_after(int exchanges) { left_ = exchanges; }

  /// From now on these bytes pass for memory of a device. @param bytes which.
  void put_on_device(std::span<const std::byte> bytes) { device_ = bytes; }
  /// @param data any address. @return whether it lies there.
  [[nodiscard]] bool is_on_device(const void* data) const noexcept {
    const auto* const at = static_cast<const std::byte*>(data);
    return at >= device_.data() && at < device_.data() + device_.size();
  }
  /// @return calls of the library's own so far, of all ranks.
  [[nodiscard]] int native_calls() const noexcept { return native_calls_; }
  /// @param part ranks that have a hub of their own. @return what one of them enqueues on.
  [[nodiscard]] std::shared_ptr<StreamTransport> divide(Communicator& part);

  /// Enqueues a rank's messages.
  void exchange(Rank self, std::span<const StreamMessage> messages);
  /// From now on ranks see each other's memory.
  void show_memory() { shows_memory_ = true; }
  [[nodiscard]] bool shows_memory() const noexcept { return shows_memory_; }
  /// @return reductions so far that read a peer's memory.
  [[nodiscard]] int folds_of_peers() const noexcept { return folds_of_peers_; }
  void count_fold() noexcept { ++folds_of_peers_; }
  /// @return messages that were announced so far.
  [[nodiscard]] int announcements() const noexcept { return announcements_; }
  /// A message that its receiver reads where it is. @param from and @param to whom.
  void announce(Rank from, Rank to, const std::byte* data);
  /// Waits for it. @return where it is.
  [[nodiscard]] const std::byte* await(Rank from, Rank to);
  /// Its receiver has read it.
  void release(Rank from, Rank to);
  /// Waits for that.
  void await_release(Rank from, Rank to);
  /// A call of the library's own.
  void broadcast(Rank self, Rank root, std::span<const std::byte> in, std::span<std::byte> out);
  /// Wakes all. @param cause what they throw.
  void abort(const Error& cause) noexcept;
  /// Throws the error of abort.
  void check();
  /// One more allocation, or one fewer.
  void count(int change);

 private:
  struct Pending {
    StreamMessage message;
    bool is_done = false;
  };
  using Queue = std::deque<Pending*>;
  struct Announced {
    const std::byte* data = nullptr;
    bool is_released = false;
  };
  template <class Condition>
  void wait(std::unique_lock<std::mutex>& lock, Condition condition);
  void match(Queue& sends, Queue& receives);

  int size_;
  std::span<const std::byte> device_{};
  std::atomic<int> native_calls_{0};
  bool shows_memory_ = false;
  std::atomic<int> announcements_{0};
  std::atomic<int> folds_of_peers_{0};
  std::map<std::pair<Rank, Rank>, Announced> announced_{};  // sender and receiver
  std::list<StreamHub> parts_{};
  std::mutex mutex_{};
  std::condition_variable changed_{};
  std::map<std::pair<Rank, Rank>, std::pair<Queue, Queue>> routes_{};  // sends and receives
  std::optional<Error> failure_{};
  std::optional<int> left_{};  // exchanges
  int live_ = 0;
};

}  // namespace tutti::harness
