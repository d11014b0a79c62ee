/// @file
/// Ranks on other hosts: `AGENT HOST COMMAND` starts a `tutti run` there, which follows this one.
#pragma once

#include <string>
#include <vector>

#include "runtime/config.hpp"

namespace tutti::perf {

/// What the command line of `tutti run` says.
struct RunOptions {
  int ranks = 1;                       ///< -n: the number of ranks that this process sees to.
  double seconds = 0;                  ///< --timeout; 0: none.
  bool labels = false;                 ///< --label.
  std::vector<std::string> hosts{};    ///< --hosts, none of them empty.
  std::string agent = "ssh";           ///< --agent, with its own arguments.
  std::vector<std::string> keep{};     ///< --env: variables that remote ranks get too.
  std::string url{};                   ///< --url: where the ranks meet; empty: chosen here.
  std::string follow{};                ///< --follow FIRST:SIZE, from one tutti run to another.
  std::vector<std::string> program{};  ///< The program and its arguments.
};

/// @param url that hosts far away can reach. @param options of the whole job. @param host the index
/// of one. @param environment of this process. @return the words that start that host's ranks.
[[nodiscard]] std::vector<std::string> agent_words(const std::string& url,
                                                   const RunOptions& options, std::size_t host,
                                                   const runtime::Environment& environment);

/// @param options of the whole job. @param host the index of one. @return the first rank there.
/// Ranks are dealt out in blocks, sizes differ by at most one.
[[nodiscard]] int first_rank(const RunOptions& options, std::size_t host);

/// @param options of the whole job. @return a place on the first host, at a port by chance.
[[nodiscard]] std::string url_on_first_host(const RunOptions& options);

/// @return a secret for a job: 64 hexadecimal digits by chance.
[[nodiscard]] std::string draw_secret();
/// Keeps the job's secret, in memory only. @param secret it.
/// @return a path that this process's children can read it from. Throws Failure{environment}.
[[nodiscard]] std::string keep_secret(const std::string& secret);
/// Reads the job's secret from standard input, as a line, and keeps it in memory only.
/// @return a path that this process's children can read it from. Throws Failure{environment}.
[[nodiscard]] std::string receive_secret();

}  // namespace tutti::perf
