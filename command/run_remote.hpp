/// @file
/// Ranks on other hosts: `AGENT HOST COMMAND` starts a `tutti run` there, which follows this one.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "runtime/launch/config.hpp"
#include "runtime/sockets/socket.hpp"

namespace tutti::command {

/// The command line of `tutti run`.
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

/// @param options of the whole job. @param host the index of one. @param environment of this
/// process. @return the words that start that host's ranks.
[[nodiscard]] std::vector<std::string> agent_words(const RunOptions& options, std::size_t host,
                                                   const runtime::Environment& environment);

/// @param hosts as the user names them. @param ranks of the whole job. @return the host of each
/// rank: they are dealt out in blocks, whose sizes differ by at most one.
[[nodiscard]] std::vector<std::string> placement_on(const std::vector<std::string>& hosts,
                                                    int ranks);

/// @param host as the user names it, perhaps with a user before it. @return its name.
[[nodiscard]] std::string name_of_host(const std::string& host);

/// @param host as the user names it. @return where ranks meet on that host, but for the port, such
/// as "tcp://[fd00::1]:".
[[nodiscard]] std::string meeting_host(const std::string& host);

/// A port of this host that nobody else is given while the socket is open: it is bound, and nobody
/// listens there, so that rank 0 still can.
struct KeptPort {
  runtime::Descriptor socket{};  ///< Keeps it.
  int number = 0;                ///< Which.
};
/// @return a port. Throws Failure{environment}.
[[nodiscard]] KeptPort keep_port();

/// @return a secret for a job: 64 hexadecimal digits by chance.
[[nodiscard]] std::string generate_secret();
/// Keeps the job's secret, in memory only. @param secret it.
/// @return a path that this process's children can read it from. Throws Failure{environment}.
[[nodiscard]] std::string keep_secret(const std::string& secret);
/// Reads a line from the leading `tutti run` at standard input.
/// @param what it is. @param patience for how long to wait; nothing: until that one ends.
/// @return it. Throws Failure{environment}.
[[nodiscard]] std::string receive_line(const std::string& what,
                                       std::optional<std::chrono::milliseconds> patience = {});

}  // namespace tutti::command
