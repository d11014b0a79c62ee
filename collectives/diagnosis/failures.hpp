/// @file
/// Failures: the first cause of which a communicator fails, for good, on all ranks.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <type_traits>

#include <tutti/error.hpp>
#include <tutti/spi/failure_signal.hpp>
#include <tutti/spi/group.hpp>
#include <tutti/spi/interrupt.hpp>
#include <tutti/spi/transport.hpp>

#include "collectives/execution/call_order.hpp"

#include "blame.hpp"

namespace tutti::v0::detail {

/// Of one communicator. Called by the thread that is in its engine.
class Failures {
 public:
  /// All but the signal live longer. @param order and @param calls of this rank. @param group asks
  /// the other ranks, or null. @param failure_signal of the other ranks, or null.
  Failures(Transport& transport, const CallOrder& order, const CallCounter& calls, Group* group,
           std::shared_ptr<const FailureSignal> failure_signal) noexcept
      : transport_{transport}, order_{order}, calls_{calls}, group_{group},
        failure_signal_{std::move(failure_signal)} {}

  /// @return whether it has failed.
  [[nodiscard]] bool has_failed() const noexcept { return failure_.has_value(); }
  /// @return whether no peer can write any more into what the failure left pending.
  [[nodiscard]] bool is_quiet() const noexcept { return is_quiet_; }
  /// @return whether this process is a child of the one that made the communicator, as far as a
  /// signal knows.
  [[nodiscard]] bool is_forked() const noexcept {
    return failure_signal_ && failure_signal_->is_forked();
  }
  /// Throws the cause, if it has failed: the one on which all ranks agree, where there is one, else
  /// the one that this rank found.
  void check() const {
    if (failure_) complain();
  }
  /// Throws the error of the signal, if it was raised.
  void check_signal() const {
    if (failure_signal_) failure_signal_->check();
  }
  /// It fails, if it has not. Throws as check. @param cause why.
  [[noreturn]] void fail(const Error& cause);
  /// It fails of the exception that is being handled. Throws as check.
  [[noreturn]] void fail_as_caught();
  /// It fails if this thread is interrupted: interrupt_by.
  void check_interrupt() {
    if (is_interrupted()) fail_interrupted();
  }
  /// Does a part of an operation. What that throws fails the communicator.
  template <class Action>
  std::invoke_result_t<Action> attempt(Action action) {
    check();
    try {
      return action();
    } catch (...) {
      fail_as_caught();
    }
  }
  /// The same without a throw: later calls throw it.
  void keep_as_caught() noexcept;
  /// It ends with the exception that is being handled, which is sent to the other ranks.
  void end_as_caught() noexcept;
  /// It fails, since something is not waited for any more. @param what that is.
  void give_up(const std::string& what) noexcept;
  /// @return what finds the rank at fault.
  [[nodiscard]] Blame blame() const;

 private:
  [[nodiscard]] Error explained(const Error& cause) const;
  [[noreturn]] void complain() const;
  [[noreturn]] void fail_interrupted();

  Transport& transport_;
  const CallOrder& order_;
  const CallCounter& calls_;
  Group* group_;
  std::shared_ptr<const FailureSignal> failure_signal_;
  std::optional<Error> failure_{};
  bool is_quiet_ = true;
};

}  // namespace tutti::v0::detail
