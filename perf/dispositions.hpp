/// @file
/// Dispositions of signals in the command and in the programs that it starts.
#pragma once

namespace tutti::perf {

/// Call it at the start of a command. Then the command can wait for its children even if its parent
/// ignores SIGCHLD, and a write beyond the limit of file sizes fails like one to a full disk.
/// Throws Failure{environment}.
void set_dispositions();

/// Ignores a signal in this process, but not in programs that it starts. Throws
/// Failure{environment}.
void ignore_signal(int number);

/// Undoes ignore_signal, in a process that is about to execute a program. Signals that the parent
/// of this process ignored stay ignored. Safe between fork and exec.
void restore_ignored_signals() noexcept;

/// @return whether this process ignores a signal, as SIGHUP under nohup.
[[nodiscard]] bool is_ignored(int number) noexcept;

}  // namespace tutti::perf
