/// @file
/// The frames of a crash, for programs of this project: the library itself never prints.
#pragma once

#include <array>
#include <csignal>
#include <cstddef>
#include <string_view>

#include <execinfo.h>
#include <unistd.h>

namespace tutti::v0::detail {

/// Prints the frames of this thread, then lets the signal end the process.
inline void report_crash(int number) noexcept {
  constexpr std::string_view kHead = "crashed; the frames, for addr2line:\n";
  constexpr int kMostFrames = 64;
  std::array<void*, kMostFrames> frames{};
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kHead.data(), kHead.size());
  backtrace_symbols_fd(frames.data(), backtrace(frames.data(), kMostFrames), STDERR_FILENO);
  ::raise(number);
}

/// From now on a signal of a crash prints the frames first, until the process ends: an MPI that
/// would do so itself stops at MPI_Finalize, and leaves signals alone that a program handles. To be
/// called by main, before an MPI starts.
inline void print_frames_of_crashes() noexcept {
  // A first backtrace loads its libraries now, since a process that crashes can load nothing.
  std::array<void*, 1> here{};
  backtrace(here.data(), 1);
  // The handler has its own stack, since the crash may come from a full one.
  constexpr std::size_t kStackBytes = std::size_t{64} << 10;
  alignas(16) static std::array<std::byte, kStackBytes> memory;
  const stack_t stack{.ss_sp = memory.data(), .ss_flags = 0, .ss_size = memory.size()};
  sigaltstack(&stack, nullptr);
  for (const int number : {SIGSEGV, SIGBUS, SIGILL, SIGFPE}) {
    struct sigaction before {};
    if (sigaction(number, nullptr, &before) != 0 || before.sa_handler != SIG_DFL) continue;
    struct sigaction action {};
    action.sa_handler = report_crash;
    action.sa_flags = SA_ONSTACK | SA_NODEFER | static_cast<int>(SA_RESETHAND);
    sigaction(number, &action, nullptr);
  }
}

}  // namespace tutti::v0::detail
