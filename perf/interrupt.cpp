#include "perf/interrupt.hpp"

#include <csignal>
#include <initializer_list>

#include "perf/dispositions.hpp"

namespace tutti::perf {

namespace {

// A signal handler can only reach a global.
volatile std::sig_atomic_t caught = 0;

extern "C" void remember_signal(int signal) {
  caught = signal;
  std::signal(signal, SIG_DFL);
}

}  // namespace

void catch_interrupts() {
  for (const int number : {SIGINT, SIGTERM})
    if (!is_ignored(number)) std::signal(number, remember_signal);
}

int interrupt_signal() noexcept {
  return caught;
}

}  // namespace tutti::perf
