// How a communicator fails, and finds out that it has to.
#include <new>
#include <utility>

#include <tutti/spi/fingerprint.hpp>

#include "engine.hpp"
#include "objects.hpp"

namespace tutti::inline v0::detail {
namespace {

/// What is being handled, for all ranks to be told: an Error as it is, and whatever a user's
/// operator, the memory or the transport threw beside.
Error caught(Rank self) {
  const std::string rank = "rank " + std::to_string(self);
  try {
    throw;
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return {ErrorCode::transport, "no memory is left on " + rank, self};
  } catch (const std::exception& error) {
    return {ErrorCode::aborted, "an exception ended the operation on " + rank + ": " + error.what(),
            self};
  } catch (...) {
    return {ErrorCode::aborted, "an exception of unknown type ended the operation on " + rank,
            self};
  }
}

}  // namespace

/// Who destroys a communicator hears of nothing any more, but ranks that still call it do.
Engine::~Engine() {
  if (progress_thread_ && !is_forked()) progress_thread_->remove(*this);
  if (is_forked()) static_cast<void>(new auto(std::move(progress_thread_)));  // it is the parent's
  waiting_.clear();  // object collectives give their memory back to members below it
  if (!failure_) look_back();
  if (is_quiet_) return;
  for (Held& held : in_use_)
    if (!held.execution.done()) held.execution.write_off();
  // Peers may still write into their memory, so that is never freed.
  if (!objects_.empty()) static_cast<void>(new auto(std::move(objects_)));
}

/// Tells the ranks of a disagreement that nobody has noticed yet.
void Engine::look_back() noexcept {
  try {
    find_strays(false);
  } catch (...) {
    try {
      is_quiet_ = transport_->abort(explained(caught(transport_->self())));
    } catch (...) {  // There is no memory for words: the transport ends without any.
    }
  }
}

Engine::Oldest Engine::oldest_pending() const noexcept {
  Oldest oldest{order_.count()};
  for (const Held& held : in_use_)
    if (!held.execution.done() && !held.execution.is_held() &&
        held.execution.binding().is_collective && held.execution.sequence() < oldest.sequence)
      oldest = {held.execution.sequence(), held.execution.binding().fingerprint};
  if (order_.oldest_kept() < oldest.sequence) oldest = {order_.oldest_kept()};
  return oldest;
}

/// Looks for messages of calls that have ended, or that differ from the one that waits: a rank that
/// only sends learns from nothing else that others see the call differently. Done where a message
/// waits for its receive, where this rank waits anyway, and thoroughly once in a window and where
/// it has waited for long.
void Engine::find_strays(bool thoroughly) {
  const Oldest oldest = oldest_pending();
  transport_->find_strays(make_fingerprint(oldest.summary, oldest.sequence), thoroughly);
  has_looked_ = true;
}

/// Whatever a rank sent before a message that this call has received has come too. So where ranks
/// disagree about an earlier call, the first call that waits for them fails, and not the next one.
void Engine::find_strays_after(const Execution& execution) {
  if (failure_) return;
  if (execution.binding().awaits_all) strays_are_likely_ = has_pending();
  try {
    find_strays(false);
  } catch (...) {
    fail_as_caught();
  }
}

bool Engine::has_pending() const noexcept {
  return oldest_pending().sequence < order_.count();
}

void Engine::fail(const Error& cause) {
  if (!failure_) {
    failure_ = cause;
    is_quiet_ = transport_->abort(cause);
  }
  complain();
}

void Engine::fail_as_caught() {
  fail(explained(caught(transport_->self())));
}

/// Says what all ranks say, where they agree on that, and else what was seen here.
void Engine::complain() const {
  if (alarm_) alarm_->check();
  throw Error{*failure_};
}

/// Of two ranks in different calls each finds the other one to be wrong: the rest are asked, where
/// they can be.
Error Engine::explained(const Error& cause) const {
  const bool is_over = failure_ || (alarm_ && alarm_->went_off());
  if (cause.code() != ErrorCode::mismatch || is_over) return cause;
  try {
    return blame().explained(cause, order_.count());
  } catch (...) {
    return cause;
  }
}

Blame Engine::blame() const {
  return {group_.get(), *calls_, transport_->self(), transport_->size()};
}

}  // namespace tutti::inline v0::detail
