/// @file
/// Tasks: operations of several calls, such as an object collective. They advance whenever the
/// engine polls.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include <tutti/types.hpp>

#include "notice.hpp"

namespace tutti::v0::detail {

/// An operation that the engine keeps from Engine::start until it is done. Its functions are called
/// by the thread that is in the engine.
class Task {
 public:
  Task() = default;
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;
  virtual ~Task() = default;

  /// Acquires its resources. If it throws, it has no effect.
  virtual void prepare() = 0;
  /// @return the number of positions that it needs: for its first calls, and for later ones.
  [[nodiscard]] virtual std::uint32_t positions() const noexcept = 0;
  /// Lets advance() start its first calls.
  virtual void let_start() noexcept = 0;
  /// Called when its first calls have started. Throws the Error of which the communicator failed.
  virtual void started() = 0;
  /// Continues after completed calls. Throws an Error, with which the communicator fails.
  virtual void advance() = 0;
  /// Releases its resources. If it is under way, the communicator fails.
  virtual void drop() noexcept = 0;
  /// Drops a task that is under way, or waits for older ones.
  virtual void drop_pending() noexcept = 0;
  /// @return whether nothing is left to do.
  [[nodiscard]] virtual bool done() const noexcept = 0;
  /// @return the source and tag of a task that still receives. Tasks receive messages of one source
  /// and tag in the order in which they began.
  [[nodiscard]] virtual std::optional<std::pair<Rank, int>> receives() const noexcept = 0;

  /// Called before the program receives the next message of this source and tag. If the task has
  /// to receive an earlier one of them, it does so first.
  virtual void precede_receive(Rank from, int tag) {
    static_cast<void>(from), static_cast<void>(tag);
  }

  [[nodiscard]] Notice& notice() noexcept { return notice_; }
  /// Called when its handle is destroyed inside a call; drop_pending follows after that call.
  void set_dropped() noexcept { is_dropped_ = true; }
  [[nodiscard]] bool is_dropped() const noexcept { return is_dropped_; }

 private:
  bool is_dropped_ = false;
  Notice notice_{};
};

}  // namespace tutti::v0::detail
