/// @file
/// The guard of a job: the parent of all its processes, which sees to it that none is left.
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
  perf::Program program{};  ///< What it runs.
  std::string label{};      ///< Stands before each of its lines; empty: its output is not touched.
  std::string first_words{};  ///< What it reads on its standard input before anything else.
  /// It starts a `tutti run` on another host, whose standard input stays open as long as this
  /// process lives, and which tells this one at its standard output what there is to tell.
  bool is_follower = false;
  bool explains = false;  ///< It prints itself why it exits with a status other than 0.
};

/// A job: processes that live and die together.
struct Job {
  std::vector<Member> members{};  ///< The processes, in their order.
  int ranks = 1;                  ///< Of the whole job.
  int first_rank = 0;             ///< The rank of the first member, if these are ranks.
  std::shared_ptr<runtime::EndNotices> notices{};  ///< Tell ranks of those that ended; or null.
  /// Where the ranks meet, but for the port: the first follower tells it, and then all are told.
  std::string meeting_host{};
  std::optional<std::chrono::nanoseconds> time{};  ///< All are ended after this.
  /// All are ended when nobody can write into it any more, and what there is to tell is told to the
  /// one who can; -1: this process is the one that the user sees.
  int lifeline = -1;
  int terminal = -1;  ///< What is typed there goes to the first member; -1: nothing.
};

/// @return SIGCHLD and those of SIGTERM, SIGINT and SIGHUP that this process does not ignore, as it
/// does SIGHUP under nohup: a signal that is ignored and blocked would still arrive.
[[nodiscard]] sigset_t launcher_signals();

/// The signal of the death of a guard's parent. People send others, which may be ignored.
[[nodiscard]] int parent_death_signal();

/// @return launcher_signals() and parent_death_signal().
[[nodiscard]] sigset_t guard_signals();

/// Runs a job until no process of it is left, and nothing that it started. The first rank that
/// fails is named in one line, unless it says so itself, and all others are ended: SIGTERM, and
/// SIGKILL five seconds later; so they are on guard_signals(). Call it in a process of its own with
/// one thread. @return the exit status: 0, or that of the first member that failed, 128 + the
/// signal where that was the cause.
[[nodiscard]] int guard(const Job& job);

/// Ends every process that this one has become the parent of, and waits for them. For the parent of
/// a guard that was killed.
void end_orphans();

}  // namespace tutti::command
