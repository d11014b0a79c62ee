/// @file
/// The guard of a job: the parent of all its processes, which sees to it that none is left.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "perf/run_spawn.hpp"

namespace tutti::perf {

/// A process of a job.
struct Member {
  std::string name{};   ///< How to speak of it, such as "rank 3" or "host b".
  Program program{};    ///< What it runs.
  std::string label{};  ///< Stands before each of its lines; empty: its output is not touched.
  std::string first_words{};  ///< What it reads on its standard input before anything else.
  bool has_lifeline = false;  ///< Its standard input stays open as long as this process lives.
};

/// A job: processes that live and die together.
struct Job {
  std::vector<Member> members{};                   ///< The processes, in their order.
  std::optional<std::chrono::nanoseconds> time{};  ///< All are ended after this.
  int lifeline = -1;  ///< All are ended when nobody can write into it any more; -1: none.
  int terminal = -1;  ///< What is typed there goes to the first member; -1: nothing.
};

/// Runs a job until no process of it is left, and nothing that it started. The first member that
/// fails is named in one line, and all others are ended: SIGTERM, and SIGKILL five seconds later;
/// so they are on SIGTERM, SIGINT and SIGHUP, and on the death of this process's parent. Call it in
/// a process of its own with one thread.
/// @param job what. @return the exit status: 0, or that of the first member that failed, 128 + the
/// signal where that was the cause.
[[nodiscard]] int guard(const Job& job);

/// Ends every process that this one has become the parent of, and waits for them. For the parent of
/// a guard that was killed.
void end_orphans();

}  // namespace tutti::perf
