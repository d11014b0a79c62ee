/// @file
/// The thread that goes on with operations while programs do other things.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <tutti/spi/fork_guard.hpp>

namespace tutti::v0::detail {

class Engine;

/// One thread for all communicators of a process that want it; see
/// CommunicatorOptions::progress_thread. It sleeps while nothing is pending, and in a transport
/// while nothing comes, where whoever sends something wakes it. It never spins.
class ProgressThread {
 public:
  /// @return that of this process, which ends with the last communicator that holds it.
  [[nodiscard]] static std::shared_ptr<ProgressThread> of_process();
  ProgressThread();
  ProgressThread(const ProgressThread&) = delete;
  ProgressThread& operator=(const ProgressThread&) = delete;
  ~ProgressThread();

  /// @return whether this process is a child, to which the thread did not come along.
  [[nodiscard]] bool is_forked() const noexcept { return guard_.is_forked(); }
  /// Throws Error{invalid_argument} in a child.
  void check_process() const { guard_.check(); }
  /// @param engine goes on by this thread from now on, until it is removed.
  void add(Engine& engine);
  /// Waits until this thread has left it. @param engine that was added.
  void remove(Engine& engine) noexcept;
  /// Something is pending. Costs a system call where the thread sleeps.
  void wake() noexcept {
    signal_.fetch_add(1, std::memory_order_release);
    signal_.notify_one();
  }

 private:
  struct Slot {
    std::mutex mutex{};  // held while the thread is in the engine
    Engine* engine = nullptr;
  };
  void run();
  void refresh();
  struct Round {
    int pending = 0;
    bool moved = false;
  };
  [[nodiscard]] Round go_round(bool may_wait_idle);

  const ForkGuard guard_{};
  std::mutex mutex_{};  // of the next two
  std::vector<std::shared_ptr<Slot>> slots_{};
  std::uint64_t version_ = 0;
  std::vector<std::shared_ptr<Slot>> seen_{};  // the thread's copy of slots_
  std::uint64_t seen_version_ = 0;
  std::atomic<std::uint32_t> signal_{0};
  std::atomic<bool> is_over_{false};
  std::thread thread_{};
};

}  // namespace tutti::v0::detail
