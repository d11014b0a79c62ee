#include "failures.hpp"

#include <new>

#include <tutti/spi/memory.hpp>

namespace tutti::v0::detail {
namespace {

/// @return the exception that is being handled, as an Error for all ranks. A user's operator, the
/// memory or the transport may have thrown another exception.
Error caught(Rank self) {
  const std::string rank = "rank " + std::to_string(self);
  try {
    throw;
  } catch (const Error& error) {
    return error;
  } catch (const MemoryShortage& shortage) {
    return {ErrorCode::transport, rank + ": " + shortage.what(), self};
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

void Failures::fail(const Error& cause) {
  if (!failure_) {
    failure_ = cause;
    is_quiet_ = transport_.abort(cause);
  }
  complain();
}

void Failures::fail_as_caught() {
  fail(explained(caught(transport_.self())));
}

void Failures::keep_as_caught() noexcept {
  try {
    fail_as_caught();
  } catch (...) {  // later calls throw it
  }
}

void Failures::end_as_caught() noexcept {
  try {
    is_quiet_ = transport_.abort(explained(caught(transport_.self())));
  } catch (...) {  // no memory for a text: the transport ends without one
  }
}

void Failures::give_up(const std::string& what) noexcept {
  if (failure_) return;
  const Rank self = transport_.self();
  failure_ = Error{ErrorCode::aborted,
                   what + " was dropped while pending on rank " + std::to_string(self), self};
  is_quiet_ = transport_.abort(*failure_);
}

void Failures::fail_interrupted() {
  const Rank self = transport_.self();
  fail({ErrorCode::aborted, "rank " + std::to_string(self) + " was interrupted while it waited",
        self});
}

void Failures::complain() const {
  check_signal();
  throw Error{*failure_};
}

/// Two ranks in different calls blame each other, so it asks the other ranks. A rank that is gone
/// may have ended normally, after other calls than this rank's.
Error Failures::explained(const Error& cause) const {
  const bool is_over = failure_ || (failure_signal_ && failure_signal_->is_raised());
  if (is_over) return cause;
  try {
    if (cause.code() == ErrorCode::peer_dead)
      return blame().behind_departure(cause, order_.count());
    if (cause.code() != ErrorCode::mismatch) return cause;
    return blame().explained(cause, order_.count());
  } catch (...) {
    return cause;
  }
}

Blame Failures::blame() const {
  return {group_, calls_, transport_.self(), transport_.size()};
}

}  // namespace tutti::v0::detail
