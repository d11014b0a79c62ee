/// @file
/// The guard of a job: the parent of all its processes, which ends all of them.
#pragma once

#include <signal.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "perf/spawn.hpp"
#include "runtime/launch/end_notices.hpp"

namespace tutti::command {

/// A process of a job.
struct Member {
  std::string name{};       ///< Such as "rank 3" or "host b".
  perf::Program program{};  ///< Its program.
  std::string
      label{};  ///< Prefix of each line of its output; empty: the output is passed on unchanged.
  std::string first_words{};  ///< The beginning of its standard input.
  /// It starts a `tutti run` on another host. Its standard input stays open as long as this process
  /// lives, and its standard output contains reports for this one.
  bool is_follower = false;
  bool explains = false;  ///< It prints the reason for an exit status other than 0.
};

/// A job: processes that live and die together.
struct Job {
  std::vector<Member> members{};  ///< The processes, in their order.
  int ranks = 1;                  ///< Size of the whole job.
  int first_rank = 0;             ///< The rank of the first member, if these are ranks.
  std::shared_ptr<runtime::EndNotices>
      notices{};  ///< Reports ended ranks to the other ranks; or null.
  /// The address of the meeting, without the port. The first follower reports the port, and the
  /// guard passes it to all others.
  std::string meeting_host{};
  std::optional<std::chrono::nanoseconds> time{};  ///< Time limit of the job.
  /// Descriptor to the leading `tutti run`: when its other end closes, the job ends, and failures
  /// are reported to that process. -1: this process is the leading one.
  int lifeline = -1;
  int terminal =
      -1;  ///< Descriptor of the terminal whose input goes to the first member; -1: none.
};

/// @return SIGCHLD, and those of SIGTERM, SIGINT and SIGHUP that this process does not ignore. A
/// signal that is ignored (SIGHUP under nohup) would still arrive if it were blocked.
[[nodiscard]] sigset_t launcher_signals();

/// The signal that a guard gets when its parent dies. Users send other signals, which may be
/// ignored.
[[nodiscard]] int parent_death_signal();

/// @return launcher_signals() and parent_death_signal().
[[nodiscard]] sigset_t guard_signals();

/// Runs a job until none of its processes and their descendants is left. If a rank fails, prints
/// its failure in one line unless the rank explains it, then ends all others with SIGTERM, and with
/// SIGKILL five seconds later; so it does on guard_signals(). Call it in a process of its own with
/// one thread. @return 0, or the exit status of the first member that failed: 128 plus the signal
/// if a signal ended it.
[[nodiscard]] int guard(const Job& job);

/// Ends and awaits every process that this process has adopted. The parent of a guard that was
/// killed calls it.
void end_orphans();

}  // namespace tutti::command
