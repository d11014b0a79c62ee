/// @file
/// Calls that start together.
#pragma once

#include <concepts>
#include <memory>
#include <string_view>
#include <utility>

#include <tutti/attempt.hpp>
#include <tutti/error.hpp>
#include <tutti/export.hpp>

namespace tutti::v0 {

namespace detail {

class Engine;

/// The batch of a thread while it gathers calls: an object on the stack of batch(), which calls
/// find by a thread-local pointer. They are the same calls as elsewhere, of whatever communicators,
/// so nothing that they are given could name it; and a communicator is used by one thread at a
/// time.
class TUTTI_API BatchScope {
 public:
  /// Throws Error{invalid_argument} if there is one already.
  BatchScope();
  BatchScope(const BatchScope&) = delete;
  BatchScope& operator=(const BatchScope&) = delete;
  /// Calls that have not started never will.
  ~BatchScope();

  /// @return that of this thread, or null.
  [[nodiscard]] static BatchScope* current() noexcept;
  /// Refuses what cannot be done within a batch. Throws Error{invalid_argument}.
  /// @param what it is, such as "a split".
  static void reject(std::string_view what);

  /// @param engine of a communicator that has calls in the batch, and is this thread's until that
  /// ends.
  void add(const std::shared_ptr<Engine>& engine) noexcept;
  /// Ends the gathering, starts the calls, and waits for those that block.
  void run();

 private:
  void enter();

  // In the order of their first calls; a list through the engines, so that nothing is allocated.
  std::shared_ptr<Engine> first_{};
  Engine* last_ = nullptr;
  bool is_running_ = false;
};

}  // namespace detail

/// Makes calls that start together when the function returns: of one communicator or several,
/// blocking, nonblocking, prepared, collective or between two ranks, in any mixture. The first
/// messages of all calls of a communicator are posted at once, and all make progress together, so
/// that ranks which send and receive in a ring within a batch do not wait for each other.
///
/// A blocking call inside returns at once and has ended when the batch has: results are not to be
/// read before. A nonblocking one gives its Request as always, which is not to be tested or waited
/// for within the batch; dropping it there takes its call out of the batch. A wrong argument throws
/// from the call itself. Objects are not moved within a batch, since their sizes are told first;
/// communicators are not divided there, nor is there one within another: Error{invalid_argument}.
/// Nor may one call of a batch write to memory that another one reads or writes, since they run at
/// the same time: then batch throws Error{invalid_argument}, and none has started. Calls with
/// Options::stream are not compared; those on one stream run one after the other.
/// @param calls makes the calls. If it throws, none of them has started.
/// Throws what `calls` throws; and after all blocking calls have ended, well or not, the first
/// Error of them.
template <std::invocable Calls>
void batch(Calls&& calls) {
  detail::BatchScope scope;
  std::forward<Calls>(calls)();
  scope.run();
}

/// As batch. @param calls makes the calls. @return nothing, or the Error; anything else that
/// `calls` throws becomes an Error{transport}.
template <std::invocable Calls>
[[nodiscard]] Result<void> try_batch(Calls&& calls) noexcept {
  return detail::attempt([&calls] { batch(std::forward<Calls>(calls)); });
}

}  // namespace tutti::v0
