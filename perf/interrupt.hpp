/// @file
/// SIGINT and SIGTERM, which commands handle at their next safe point.
#pragma once

namespace tutti::perf {

/// Exit status of shells for a process that a signal ended: this plus the signal.
inline constexpr int kSignalExit = 128;

/// Catches SIGINT and SIGTERM, unless they are ignored. A second one ends the process.
void catch_interrupts();

/// @return the signal that arrived, or 0.
[[nodiscard]] int interrupt_signal() noexcept;

}  // namespace tutti::perf
