/// @file
/// Ctrl-C and the launcher's wish to end, noticed at the next safe point.
#pragma once

namespace tutti::perf {

/// Catches SIGINT and SIGTERM from now on; a second one ends the process as usual.
void catch_interrupts();

/// @return the signal that came, or 0.
[[nodiscard]] int interrupt_signal() noexcept;

}  // namespace tutti::perf
