/// @file
/// Ctrl-C and the launcher's wish to end, noticed at the next safe point.
#pragma once

namespace tutti::perf {

/// As shells report a process that a signal ended: this and the signal.
inline constexpr int kSignalExit = 128;

/// Catches SIGINT and SIGTERM from now on, unless they are ignored; a second one ends the process
/// as usual.
void catch_interrupts();

/// @return the signal that came, or 0.
[[nodiscard]] int interrupt_signal() noexcept;

}  // namespace tutti::perf
