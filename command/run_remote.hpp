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
  int ranks = 1;                       ///< -n: the number of ranks that this process starts.
  double seconds = 0;                  ///< --timeout; 0: no limit.
  bool labels = false;                 ///< --label.
  std::vector<std::string> hosts{};    ///< --hosts, none of them empty.
  std::string agent = "ssh";           ///< --agent, with its own arguments.
  std::vector<std::string> keep{};     ///< --env: variables that remote ranks get too.
  std::string url{};                   ///< --url: where the ranks meet; empty: chosen here.
  std::string follow{};                ///< --follow FIRST:SIZE, from one tutti run to another.
  std::vector<std::string> program{};  ///< The program and its arguments.
};

/// @param options of the whole job. @param host index in `options.hosts`. @param environment of
/// this process. @return the command that starts the ranks of that host.
[[nodiscard]] std::vector<std::string> agent_words(const RunOptions& options, std::size_t host,
                                                   const runtime::Environment& environment);

/// @param ranks of the whole job. @return the host of each rank. Each host gets one block of ranks;
/// sizes of blocks differ by at most one.
[[nodiscard]] std::vector<std::string> placement_on(const std::vector<std::string>& hosts,
                                                    int ranks);

/// @param host name, or user@name. @return the name.
[[nodiscard]] std::string name_of_host(const std::string& host);

/// @param host name, or user@name. @return URL of that host without the port, such as
/// "tcp://[fd00::1]:".
[[nodiscard]] std::string meeting_host(const std::string& host);

/// A port of this host, reserved while the socket is open. The socket is bound but does not listen,
/// so that rank 0 can listen there.
struct KeptPort {
  runtime::Descriptor socket{};  ///< Reserves the port.
  int number = 0;                ///< The port.
};
/// Throws Failure{environment}.
[[nodiscard]] KeptPort keep_port();

/// @return a random secret for a job: 64 hexadecimal digits.
[[nodiscard]] std::string generate_secret();
/// Stores the job's secret in memory. @return a path where children of this process can read it.
/// Throws Failure{environment}.
[[nodiscard]] std::string keep_secret(const std::string& secret);
/// Reads a line from the leading `tutti run` at standard input. @param what name of the value, for
/// errors. @param patience time limit; empty: until the other process ends. Throws
/// Failure{environment}.
[[nodiscard]] std::string receive_line(const std::string& what,
                                       std::optional<std::chrono::milliseconds> patience = {});

}  // namespace tutti::command
