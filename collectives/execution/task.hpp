/// @file
/// Tasks: several calls that belong together, such as those of an object collective, and go on
/// whenever the engine polls.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include <tutti/types.hpp>

#include "notice.hpp"

namespace tutti::v0::detail {

/// What the engine keeps from Engine::start until it is done. Called by the thread that is in the
/// engine.
class Task {
 public:
  Task() = default;
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;
  virtual ~Task() = default;

  /// Finds what it needs. Nothing has happened where it throws.
  virtual void prepare() = 0;
  /// @return positions that it needs: those at which its first calls start, and those kept for
  /// later.
  [[nodiscard]] virtual std::uint32_t positions() const noexcept = 0;
  /// Its position has come: advance starts its first calls.
  virtual void let_start() noexcept = 0;
  /// Its first calls have started. Throws Error, of which the communicator has failed.
  virtual void started() = 0;
  /// Goes on from what is done. Throws Error, of which the communicator fails.
  virtual void advance() = 0;
  /// Gives back what was prepared or is under way; in the latter case the communicator fails.
  virtual void drop() noexcept = 0;
  /// Drops it while it is under way, or waits for others.
  virtual void drop_pending() noexcept = 0;
  /// @return whether nothing is left to do.
  [[nodiscard]] virtual bool done() const noexcept = 0;
  /// Messages of one source and tag are received task by task, in the order in which tasks began.
  /// @return both, of a task that still receives.
  [[nodiscard]] virtual std::optional<std::pair<Rank, int>> receives() const noexcept = 0;

  /// The program is about to receive the next message of this source and tag: a task that would
  /// receive one before receives it first.
  virtual void precede_receive(Rank from, int tag) {
    static_cast<void>(from), static_cast<void>(tag);
  }

  [[nodiscard]] Notice& notice() noexcept { return notice_; }
  /// Its handle ended within a call, after which drop_pending follows.
  void set_dropped() noexcept { is_dropped_ = true; }
  [[nodiscard]] bool is_dropped() const noexcept { return is_dropped_; }

 private:
  bool is_dropped_ = false;
  Notice notice_{};
};

}  // namespace tutti::v0::detail
