/// @file
/// SignalsBlocked: threads of tutti handle no signals.
#pragma once

#include <csignal>

namespace tutti::runtime {

/// Blocks all signals while it lives. Signals belong to the program: a thread started meanwhile
/// inherits the mask, so it never handles one.
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
