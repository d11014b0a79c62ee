#include "command/run_remote.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <system_error>

#include "perf/failure.hpp"
#include "perf/spawn.hpp"
#include "runtime/meeting/folder.hpp"

namespace tutti::command {

using perf::ExitCode;
using perf::Failure;

namespace {

// The first rank of a host.
int first_rank(int ranks, std::size_t hosts, std::size_t host) {
  return static_cast<int>(static_cast<std::size_t>(ranks) * host / hosts);
}

// A socket that is bound to a port on all addresses of this host, or an empty descriptor.
runtime::Descriptor bind_anywhere(int family) {
  runtime::Descriptor socket{::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  const int no = 0;
  const int yes = 1;
  // Two sockets with this option can share a port, as long as only one of them listens.
  setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (family == AF_INET6) setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
  sockaddr_storage any{};
  any.ss_family = static_cast<sa_family_t>(family);
  const socklen_t length = family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  if (!socket || bind(socket.get(), reinterpret_cast<sockaddr*>(&any), length) != 0) return {};
  return socket;
}

}  // namespace

std::string name_of_host(const std::string& host) {
  return host.substr(host.find('@') + 1);
}

std::string meeting_host(const std::string& host) {
  std::string url = "tcp://" + runtime::text_of(runtime::HostAndPort{.host = name_of_host(host)});
  url.resize(url.rfind(':') + 1);
  return url;
}

std::vector<std::string> placement_on(const std::vector<std::string>& hosts, int ranks) {
  std::vector<std::string> placement;
  for (std::size_t host = 0; host < hosts.size(); ++host)
    placement.resize(static_cast<std::size_t>(first_rank(ranks, hosts.size(), host + 1)),
                     name_of_host(hosts[host]));
  return placement;
}

KeptPort keep_port() {
  KeptPort port{bind_anywhere(AF_INET6)};
  if (!port.socket) port.socket = bind_anywhere(AF_INET);  // a host without IPv6
  if (!port.socket)
    throw Failure{ExitCode::environment, fmt::format("no port is free: {}", std::strerror(errno))};
  port.number = runtime::port_of(runtime::bound_endpoint(port.socket.get()));
  return port;
}

std::vector<std::string> agent_words(const RunOptions& options, std::size_t host,
                                     const runtime::Environment& environment) {
  std::vector<std::string> words;
  std::istringstream agent{options.agent};
  for (std::string word; agent >> word;) words.push_back(word);
  words.push_back(options.hosts[host]);

  const std::size_t hosts = options.hosts.size();
  const int first = first_rank(options.ranks, hosts, host);
  std::vector<std::string> remote{"env"};
  for (const std::string& name : options.keep)
    if (const auto value = runtime::value_of(environment, name))
      remote.push_back(fmt::format("{}={}", name, *value));
  for (const std::string& word :
       std::vector<std::string>{std::filesystem::read_symlink("/proc/self/exe").string(), "run",
                                "--follow", fmt::format("{}:{}", first, options.ranks), "-n",
                                std::to_string(first_rank(options.ranks, hosts, host + 1) - first),
                                "--hosts", fmt::format("{}", fmt::join(options.hosts, ","))})
    remote.push_back(word);
  if (!options.url.empty()) remote.insert(remote.end(), {"--url", options.url});
  if (options.labels) remote.emplace_back("--label");
  remote.emplace_back("--");
  remote.insert(remote.end(), options.program.begin(), options.program.end());
  // The agent passes one line to a shell on the other host.
  words.push_back("cd " + perf::quoted({std::filesystem::current_path().string()}) + " && exec " +
                  perf::quoted(remote));
  return words;
}

std::string generate_secret() {
  return runtime::random_name() + runtime::random_name();
}

std::string keep_secret(const std::string& secret) {
  // A file in memory that children inherit. Nothing stays on a disk, even if all processes are
  // killed.
  const int file = memfd_create("tutti-secret", 0);
  if (file < 0 || fchmod(file, S_IRUSR | S_IWUSR) != 0 ||
      write(file, secret.data(), secret.size()) != static_cast<ssize_t>(secret.size()))
    throw Failure{ExitCode::environment,
                  fmt::format("the job's secret cannot be kept: {}", std::strerror(errno))};
  return fmt::format("/proc/self/fd/{}", file);
}

std::string receive_line(const std::string& what,
                         std::optional<std::chrono::milliseconds> patience) {
  constexpr std::size_t kLongest = 1024;
  const auto reject = [&what](const char* why) {
    throw Failure{ExitCode::environment,
                  fmt::format("{} did not arrive on standard input: {}", what, why)};
  };
  std::string line;
  while (!line.ends_with('\n')) {
    pollfd readable{.fd = 0, .events = POLLIN, .revents = 0};
    const int ready = poll(&readable, 1, patience ? static_cast<int>(patience->count()) : -1);
    if (ready == 0) reject("no data before the deadline");
    if (ready < 0 && errno != EINTR) reject(std::strerror(errno));
    if (ready < 0) continue;
    char letter = 0;
    const ssize_t length = read(0, &letter, 1);
    if (length == 0) reject("it ended");
    if (length < 0 && errno != EINTR) reject(std::strerror(errno));
    if (length > 0) line += letter;
    if (line.size() > kLongest) reject("it is too long");
  }
  line.pop_back();
  return line;
}

}  // namespace tutti::command
