/// @file
/// The thread that advances operations while programs do other things.
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

/// One thread for all communicators of a process that have CommunicatorOptions::progress_thread. It
/// never spins: while nothing is pending it sleeps, and while nothing comes it sleeps in a
/// transport, where a message wakes it.
class ProgressThread {
 public:
  /// @return the thread of this process, which ends with the last communicator that holds it.
  [[nodiscard]] static std::shared_ptr<ProgressThread> of_process();
  ProgressThread();
  ProgressThread(const ProgressThread&) = delete;
  ProgressThread& operator=(const ProgressThread&) = delete;
  ~ProgressThread();

  /// @return whether this process is a forked child, in which the thread does not exist.
  [[nodiscard]] bool is_forked() const noexcept { return guard_.is_forked(); }
  /// Throws Error{invalid_argument} in a forked child.
  void check_process() const { guard_.check(); }
  /// Lets this thread advance an engine until remove().
  void add(Engine& engine);
  /// Removes an engine that was added, and waits until the thread has left it.
  void remove(Engine& engine) noexcept;
  /// To be called when something is pending. Costs a system call if the thread sleeps.
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
  std::mutex mutex_{};  // guards slots_ and version_
  std::vector<std::shared_ptr<Slot>> slots_{};
  std::uint64_t version_ = 0;
  std::vector<std::shared_ptr<Slot>> seen_{};  // the thread's copy of slots_
  std::uint64_t seen_version_ = 0;
  std::atomic<std::uint32_t> signal_{0};
  std::atomic<bool> is_over_{false};
  std::thread thread_{};
};

}  // namespace tutti::v0::detail
