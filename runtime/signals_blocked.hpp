/// @file
/// SignalsBlocked: threads of tutti's own handle no signals.
#pragma once

#include <csignal>

namespace tutti::runtime {

/// Blocks all signals as long as it lives. Signals are the program's: a thread that is started
/// meanwhile inherits that, and none is ever handled on it.
class SignalsBlocked {
 public:
  SignalsBlocked() noexcept {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

}  // namespace tutti::runtime
