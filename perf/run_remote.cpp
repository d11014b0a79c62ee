#include "perf/run_remote.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <system_error>

#include "perf/run_spawn.hpp"
#include "perf/sweep_failure.hpp"
#include "runtime/folder.hpp"

namespace tutti::perf {

int first_rank(const RunOptions& options, std::size_t host) {
  return static_cast<int>(static_cast<std::size_t>(options.ranks) * host / options.hosts.size());
}

std::string url_on_first_host(const RunOptions& options) {
  // Below the ports that kernels lend to connections, so that most often nobody has it.
  constexpr unsigned kFirstPort = 20000;
  constexpr unsigned kPorts = 10000;
  const std::string chance = runtime::random_name().substr(0, 8);
  unsigned number = 0;
  std::from_chars(chance.data(), chance.data() + chance.size(), number, 16);
  const std::string& host = options.hosts.front();  // perhaps with a user before it
  return fmt::format("tcp://{}:{}", host.substr(host.find('@') + 1), kFirstPort + number % kPorts);
}

std::vector<std::string> agent_words(const std::string& url, const RunOptions& options,
                                     std::size_t host, const runtime::Environment& environment) {
  std::vector<std::string> words;
  std::istringstream agent{options.agent};
  for (std::string word; agent >> word;) words.push_back(word);
  words.push_back(options.hosts[host]);

  const int first = first_rank(options, host);
  std::vector<std::string> remote{"env"};
  for (const std::string& name : options.keep)
    if (const auto value = runtime::value_of(environment, name))
      remote.push_back(fmt::format("{}={}", name, *value));
  for (const std::string& word : std::vector<std::string>{
           std::filesystem::read_symlink("/proc/self/exe").string(), "run", "--follow",
           fmt::format("{}:{}", first, options.ranks), "-n",
           std::to_string(first_rank(options, host + 1) - first), "--url", url})
    remote.push_back(word);
  if (options.labels) remote.emplace_back("--label");
  remote.emplace_back("--");
  remote.insert(remote.end(), options.program.begin(), options.program.end());
  // The agent hands one line to a shell on the other side.
  words.push_back("cd " + quoted({std::filesystem::current_path().string()}) + " && exec " +
                  quoted(remote));
  return words;
}

std::string draw_secret() {
  return runtime::random_name() + runtime::random_name();
}

std::string keep_secret(const std::string& secret) {
  // In memory, and inherited: nothing is left on a disk, whoever is killed.
  const int file = memfd_create("tutti-secret", 0);
  if (file < 0 || fchmod(file, S_IRUSR | S_IWUSR) != 0 ||
      write(file, secret.data(), secret.size()) != static_cast<ssize_t>(secret.size()))
    throw Failure{ExitCode::environment,
                  fmt::format("the job's secret cannot be kept: {}", std::strerror(errno))};
  return fmt::format("/proc/self/fd/{}", file);
}

std::string receive_secret() {
  constexpr std::size_t kLongest = 1024;
  constexpr int kMilliseconds = 30'000;
  const auto refuse = [](const char* why) {
    throw Failure{ExitCode::environment, fmt::format("no secret came by standard input: {}", why)};
  };
  std::string secret;
  while (!secret.ends_with('\n')) {
    pollfd readable{.fd = 0, .events = POLLIN, .revents = 0};
    if (poll(&readable, 1, kMilliseconds) == 0) refuse("nothing for 30 s");
    char letter = 0;
    const ssize_t length = read(0, &letter, 1);
    if (length == 0) refuse("it ended");
    if (length < 0 && errno != EINTR) refuse(std::strerror(errno));
    if (length > 0) secret += letter;
    if (secret.size() > kLongest) refuse("it is longer than a secret");
  }
  secret.pop_back();
  return keep_secret(secret);
}

}  // namespace tutti::perf
