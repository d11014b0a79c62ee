/// @file
/// The first failure of a communicator, which ends it on all ranks.
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

/// Keeps the first failure of a communicator. Called by the thread that is in its engine.
class Failures {
 public:
  /// All arguments except the signal outlive this. @param order and @param calls of this rank.
  /// @param group asks the other ranks, or null. @param failure_signal of the other ranks, or null.
  Failures(Transport& transport, const CallOrder& order, const CallCounter& calls, Group* group,
           std::shared_ptr<const FailureSignal> failure_signal) noexcept
      : transport_{transport}, order_{order}, calls_{calls}, group_{group},
        failure_signal_{std::move(failure_signal)} {}

  /// @return whether the communicator has failed.
  [[nodiscard]] bool has_failed() const noexcept { return failure_.has_value(); }
  /// @return whether no peer can still write into memory of operations that the failure ended.
  [[nodiscard]] bool is_quiet() const noexcept { return is_quiet_; }
  /// @return whether this process is a forked child of the one that made the communicator; false
  /// without a failure signal.
  [[nodiscard]] bool is_forked() const noexcept {
    return failure_signal_ && failure_signal_->is_forked();
  }
  /// Throws the cause if the communicator has failed: the one on which all ranks agree if there is
  /// one, otherwise the one that this rank found.
  void check() const {
    if (failure_) complain();
  }
  /// Throws the error of the signal, if it was raised.
  void check_signal() const {
    if (failure_signal_) failure_signal_->check();
  }
  /// Fails the communicator, if it has not failed yet. Throws as check().
  [[noreturn]] void fail(const Error& cause);
  /// Fails the communicator with the exception that is being handled. Throws as check().
  [[noreturn]] void fail_as_caught();
  /// Fails the communicator if this thread is interrupted, see interrupt_by.
  void check_interrupt() {
    if (is_interrupted()) fail_interrupted();
  }
  /// Runs a part of an operation. An exception of it fails the communicator.
  template <class Action>
  std::invoke_result_t<Action> attempt(Action action) {
    check();
    try {
      return action();
    } catch (...) {
      fail_as_caught();
    }
  }
  /// Fails the communicator with the exception that is being handled, which only later calls throw.
  void keep_as_caught() noexcept;
  /// Ends the communicator with the exception that is being handled, and sends it to other ranks.
  void end_as_caught() noexcept;
  /// Fails the communicator, since a pending operation is dropped. @param what the operation.
  void give_up(const std::string& what) noexcept;
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
