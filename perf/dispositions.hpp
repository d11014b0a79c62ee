/// @file
/// Dispositions of signals: those of the command, and those that it passes on.
#pragma once

namespace tutti::perf {

/// For the beginning of a command. It can wait for its children, even if its parent ignores
/// SIGCHLD, and a file that may not grow is an error like a full disk. Throws Failure{environment}.
void set_dispositions();

/// Ignores a signal in this process, but not in programs that it starts. Throws
/// Failure{environment}.
void ignore_signal(int number);

/// Undoes ignore_signal, for a process that is about to execute a program: signals that the parent
/// of this process ignored stay ignored. It is safe between fork and exec.
void restore_ignored_signals() noexcept;

/// @return whether this process ignores a signal, as SIGHUP under nohup.
[[nodiscard]] bool is_ignored(int number) noexcept;

}  // namespace tutti::perf
