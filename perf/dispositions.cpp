#include "perf/dispositions.hpp"

#include <fmt/format.h>
#include <signal.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "perf/failure.hpp"

namespace tutti::perf {

namespace {

struct Saved {
  bool is_set = false;
  struct sigaction action {};
};

// Dispositions that ignore_signal replaced, by the number of the signal.
std::array<Saved, NSIG> replaced;

struct sigaction set(int number, void (*handler)(int)) {
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = handler;
  if (sigaction(number, &action, &before) != 0)
    throw Failure{ExitCode::environment,
                  fmt::format("cannot set what signal {} does: {}", number, std::strerror(errno))};
  return before;
}

}  // namespace

void set_dispositions() {
  set(SIGCHLD, SIG_DFL);
  ignore_signal(SIGXFSZ);
}

void ignore_signal(int number) {
  const struct sigaction before = set(number, SIG_IGN);
  Saved& saved = replaced[static_cast<std::size_t>(number)];
  if (!saved.is_set) saved = {true, before};
}

void restore_ignored_signals() noexcept {
  for (std::size_t number = 0; number < replaced.size(); ++number)
    if (replaced[number].is_set)
      sigaction(static_cast<int>(number), &replaced[number].action, nullptr);
}

bool is_ignored(int number) noexcept {
  struct sigaction action {};
  return sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace tutti::perf
