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

/// The batch of a thread while it collects calls: an object on the stack of batch(), which calls
/// find by a thread-local pointer. No argument could name the batch, since its calls are the usual
/// ones, of any communicators; and one thread at a time uses a communicator.
class TUTTI_API BatchScope {
 public:
  /// Throws Error{invalid_argument} if this thread has a batch.
  BatchScope();
  BatchScope(const BatchScope&) = delete;
  BatchScope& operator=(const BatchScope&) = delete;
  /// Drops calls that have not started.
  ~BatchScope();

  /// @return the batch of this thread, or null.
  [[nodiscard]] static BatchScope* current() noexcept;
  /// Within a batch, throws Error{invalid_argument}. @param what the call that is not allowed
  /// there, such as "a split".
  static void reject(std::string_view what);

  /// @param engine of a communicator with calls in the batch; it belongs to this thread until the
  /// batch ends.
  void add(const std::shared_ptr<Engine>& engine) noexcept;
  /// Stops collecting, starts the calls, and waits for blocking ones.
  void run();

 private:
  void enter();

  // In the order of their first calls; a list through the engines, so that nothing is allocated.
  std::shared_ptr<Engine> first_{};
  Engine* last_ = nullptr;
  bool is_running_ = false;
};

}  // namespace detail

/// Makes calls that start together when the function returns. They may be of one communicator or
/// several, blocking, nonblocking or prepared, collective or between two ranks, in any mixture. The
/// first messages of all calls of a communicator are posted at once, and all calls make progress
/// together. So ranks that send and receive in a ring within a batch do not wait for each other.
///
/// A blocking call inside returns at once, and its result is complete when batch returns. A
/// nonblocking one returns its Request, which must not be tested or waited for within the batch;
/// dropping it there removes its call from the batch. A wrong argument throws from the call itself.
///
/// These are Error{invalid_argument}: calls of objects, whose sizes are exchanged first; split; a
/// batch within a batch; and a call that writes to memory that another call of the batch reads or
/// writes. For the last, batch throws and no call has started. Calls with Options::stream are not
/// compared; those on one stream run one after the other.
/// @param calls makes the calls. If it throws, batch throws that, and no call has started.
/// Otherwise batch throws the first Error of its blocking calls, after all have ended.
template <std::invocable Calls>
void batch(Calls&& calls) {
  detail::BatchScope scope;
  std::forward<Calls>(calls)();
  scope.run();
}

/// As batch. @return the Error; any other exception of `calls` becomes an Error{transport}.
template <std::invocable Calls>
[[nodiscard]] Result<void> try_batch(Calls&& calls) noexcept {
  return detail::attempt([&calls] { batch(std::forward<Calls>(calls)); });
}

}  // namespace tutti::v0
