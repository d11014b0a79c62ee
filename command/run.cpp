// tutti run: starts the ranks of a program, here or on other hosts, and ends them together.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "command/commands.hpp"
#include "command/run_guard.hpp"
#include "command/run_remote.hpp"
#include "command/run_stream.hpp"
#include "perf/command_line.hpp"
#include "perf/exit_code.hpp"
#include "perf/failure.hpp"
#include "perf/measured_world.hpp"
#include "runtime/launch/end_notices.hpp"
#include "runtime/launch/launch.hpp"
#include "runtime/launch/placement.hpp"
#include "runtime/meeting/folder.hpp"
#include "runtime/security/cryptography.hpp"

namespace tutti::command {

using perf::ExitCode;
using perf::Failure;
using perf::number_in;
using perf::split;

namespace {

// Ranks of this host: all ranks of the job, or those from `first` on of a larger job.
struct Ranks {
  int first = 0;
  int size = 1;
  std::string url{};
  std::string secret_file{};
  std::vector<std::string> hosts{};  // host of each rank of the job
  KeptPort port{};                   // the port of rank 0, if this process chose it
};

// Whether a program is the tutti command, which prints its own errors.
bool is_this_command(const std::string& program, const runtime::Environment& environment) {
  namespace fs = std::filesystem;
  std::error_code none;
  std::vector<std::string> folders{""};
  if (program.find('/') == std::string::npos)
    folders = split(std::string{runtime::value_of(environment, "PATH").value_or("")}, ':');
  for (const std::string& folder : folders)
    if (const fs::path path = fs::path{folder} / program; fs::exists(path, none))
      return fs::equivalent(path, "/proc/self/exe", none);
  return false;
}

// The variables of this process, without those of a launcher around it.
runtime::Environment inherited() {
  runtime::Environment environment = runtime::process_environment();
  std::erase_if(environment,
                [](const auto& entry) { return runtime::is_launch_variable(entry.first); });
  return environment;
}

Member member_of(const RunOptions& options, const Ranks& ranks, int index) {
  Member member;
  member.name = fmt::format("rank {}", ranks.first + index);
  member.program.words = options.program;
  member.program.environment = inherited();
  runtime::Environment& environment = member.program.environment;
  environment["TUTTI_RANK"] = std::to_string(ranks.first + index);
  environment["TUTTI_SIZE"] = std::to_string(ranks.size);
  environment["TUTTI_LOCAL_RANK"] = std::to_string(index);
  environment["TUTTI_LOCAL_SIZE"] = std::to_string(options.ranks);
  environment["TUTTI_URL"] = ranks.url;
  environment["TUTTI_HOSTS"] = runtime::text_of_placement(ranks.hosts);
  if (!ranks.secret_file.empty()) environment["TUTTI_SECRET_FILE"] = ranks.secret_file;
  // As torchrun does: several ranks with a thread per core each would be slow.
  if (ranks.size > 1) environment.emplace("OMP_NUM_THREADS", "1");
  member.explains = is_this_command(options.program.front(), environment);
  if (options.labels) member.label = fmt::format("[{}] ", ranks.first + index);
  return member;
}

// Reports members that have ended to ranks that wait in init.
std::shared_ptr<runtime::EndNotices> notices_of(const Ranks& ranks) {
  if (ranks.size < 2) return {};
  const runtime::Environment environment = inherited();
  const auto value = [&environment](const char* name) {
    return std::string{runtime::value_of(environment, name).value_or("")};
  };
  runtime::Protection protection{.interface = value("TUTTI_ADDRESS")};
  const std::string file =
      ranks.secret_file.empty() ? value("TUTTI_SECRET_FILE") : ranks.secret_file;
  try {
    if (!file.empty()) protection.secret = runtime::read_secret(file);
  } catch (const Error&) {  // the ranks report this error
  }
  return std::make_shared<runtime::EndNotices>(runtime::Launch{.size = ranks.size,
                                                               .exchange = runtime::Exchange::url,
                                                               .url = ranks.url,
                                                               .hosts = ranks.hosts},
                                               std::move(protection));
}

Job local_job(const RunOptions& options, const Ranks& ranks) {
  Job job{.ranks = ranks.size, .first_rank = ranks.first};
  for (int index = 0; index < options.ranks; ++index)
    job.members.push_back(member_of(options, ranks, index));
  job.notices = notices_of(ranks);
  if (!options.follow.empty()) return job;
  // The ranks are in process groups of their own, so they cannot read from a terminal. The guard
  // reads it for them, if this process is in the foreground.
  if (isatty(0) == 0) job.members.front().program.input = 0;
  else if (tcgetpgrp(0) == getpgrp()) job.terminal = 0;
  return job;
}

Job remote_job(const RunOptions& options) {
  const std::string secret = generate_secret();
  const runtime::Environment environment = inherited();
  Job job{.ranks = options.ranks, .meeting_host = meeting_host(options.hosts.front())};
  for (std::size_t host = 0; host < options.hosts.size(); ++host) {
    Member member;
    member.name = "host " + options.hosts[host];
    member.program.words = agent_words(options, host, environment);
    member.program.environment = environment;
    member.first_words = secret + "\n";
    member.is_follower = true;
    job.members.push_back(std::move(member));
  }
  return job;
}

// An address where only ranks of this host meet. The system deletes it when its listener ends.
std::string url_on_this_host() {
  return "unix://tutti-run-" + runtime::random_name();
}

// The code below runs in two processes: the one that the user started, and its child, the guard,
// which is the parent of all other processes. If one of the two dies, the other one cleans up and
// ends.
void require(bool succeeded, std::string_view what) {
  if (!succeeded)
    throw Failure{ExitCode::environment, fmt::format("{}: {}", what, std::strerror(errno))};
}

int await_guard(pid_t guard_process) {
  const sigset_t signals = launcher_signals();
  for (;;) {
    int status = 0;
    const pid_t ended = waitpid(guard_process, &status, WNOHANG);
    require(ended >= 0 || errno == EINTR, "cannot wait for the guard");
    if (ended == guard_process) {
      if (WIFEXITED(status)) return WEXITSTATUS(status);
      fmt::print(stderr, "tutti run: its guard was killed by signal {}: all ranks are ended\n",
                 WTERMSIG(status));
      end_orphans();
      return 128 + WTERMSIG(status);
    }
    siginfo_t info{};
    const int number = sigwaitinfo(&signals, &info);
    require(number >= 0 || errno == EINTR || errno == EAGAIN, "cannot wait for signals");
    if (number < 0 || info.si_signo == SIGCHLD) continue;
    require(kill(guard_process, info.si_signo) == 0 || errno == ESRCH, "cannot signal the guard");
  }
}

// Opens missing standard streams, so that no other descriptor gets their numbers.
void open_standard_streams() {
  for (const int number : {0, 1, 2}) {
    if (fcntl(number, F_GETFD) >= 0) continue;
    const int opened = open("/dev/null", O_RDWR);
    require(opened == number, "cannot open /dev/null in the place of a closed standard stream");
  }
}

int run_guarded(const Job& job) {
  require(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0, "cannot become the parent of orphans");
  const sigset_t signals = guard_signals();  // the guard inherits the mask
  require(sigprocmask(SIG_BLOCK, &signals, nullptr) == 0, "cannot block signals");
  // Tries the system calls of await_guard first, while there is nothing to clean up.
  const timespec at_once{};
  sigset_t none;
  sigemptyset(&none);
  require(sigtimedwait(&none, nullptr, &at_once) >= 0 || errno == EAGAIN || errno == EINTR,
          "cannot wait for signals");
  require(waitpid(-1, nullptr, WNOHANG) >= 0 || errno == ECHILD, "cannot wait for processes");
  std::fflush(nullptr);
  const pid_t parent = getpid();
  const pid_t process = fork();
  require(process >= 0, "no process for the guard");
  if (process > 0) try {
      return await_guard(process);
    } catch (const Failure&) {
      kill(process, SIGTERM);
      waitpid(process, nullptr, 0);
      throw;
    }
  int status = 1;
  if (prctl(PR_SET_PDEATHSIG, parent_death_signal()) != 0)
    fmt::print(stderr, "tutti run: the guard cannot watch its parent: {}\n", std::strerror(errno));
  else if (getppid() == parent) status = guard(job);
  if (job.notices) job.notices->close();
  std::fflush(nullptr);
  _exit(status);
}

Ranks following(const RunOptions& options) {
  const std::size_t colon = options.follow.find(':');
  if (colon == std::string::npos)
    throw Failure{ExitCode::usage, "--follow takes FIRST:SIZE, and is for tutti itself"};
  const int size = number_in("--follow", options.follow.substr(colon + 1), {1, kMostRanks});
  Ranks ranks{
      .first = number_in("--follow", options.follow.substr(0, colon), {0, size - 1}),
      .size = size,
      .url = options.url,
      .secret_file = keep_secret(receive_line("the job's secret", std::chrono::seconds{30})),
      .hosts = placement_on(options.hosts, size)};
  if (!ranks.url.empty()) return ranks;
  if (ranks.first == 0) {
    ranks.port = keep_port();
    report_to_leader(fmt::format("port {}", ranks.port.number));
  }
  ranks.url = receive_line("the meeting place");
  return ranks;
}

// The secret by which ranks that meet at a user's URL authenticate each other. Only the user can
// read a folder, and the system identifies the peers of a name on this host, so neither needs a
// secret.
std::string secret_at(const std::string& url) {
  const bool has_one = runtime::process_environment().contains("TUTTI_SECRET_FILE");
  if (!url.starts_with("tcp://") || has_one || !runtime::has_cryptography()) return {};
  return keep_secret(generate_secret());
}

int run_job(const RunOptions& options) {
  open_standard_streams();
  Job job;
  Ranks ranks;
  if (!options.follow.empty()) {
    ranks = following(options);
    job = local_job(options, ranks);
    job.lifeline = 0;
  } else if (!options.hosts.empty()) {
    job = remote_job(options);
  } else {
    ranks = {.size = options.ranks,
             .url = options.url.empty() ? url_on_this_host() : options.url,
             .secret_file = secret_at(options.url),
             .hosts = placement_on({perf::host_name()}, options.ranks)};
    job = local_job(options, ranks);
  }
  if (options.seconds > 0)
    job.time = std::chrono::duration_cast<std::chrono::nanoseconds>(
        std::chrono::duration<double>{options.seconds});
  return run_guarded(job);
}

void check(const RunOptions& options, bool has_agent) {
  if (options.program.empty())
    throw Failure{ExitCode::usage, "the program is missing; see tutti run --help"};
  if (const std::string& word = options.program.front(); word.starts_with("-"))
    perf::reject_unknown_flag(
        "tutti run", word,
        {"-n", "--timeout", "--hosts", "--agent", "--label", "--env", "--url", "--help"});
  for (const std::string& host : options.hosts)
    if (host.empty() || host.starts_with("-"))
      throw Failure{ExitCode::usage, fmt::format("'{}' is not a host", host)};
  if (has_agent && options.hosts.empty())
    throw Failure{ExitCode::usage, "--agent starts ranks on other hosts: give --hosts too"};
  if (options.follow.empty() && static_cast<int>(options.hosts.size()) > options.ranks)
    throw Failure{ExitCode::usage, fmt::format("{} hosts are too many for {} ranks: give -n",
                                               options.hosts.size(), options.ranks)};
  if (!options.url.empty() && !runtime::is_meeting_place(options.url))
    throw Failure{ExitCode::usage, fmt::format("--url '{}' is not a meeting place: write {}",
                                               options.url, runtime::kMeetingPlaces)};
}

}  // namespace

std::vector<std::string> without_separator(const CLI::App& app, std::vector<std::string> words) {
  if (words.empty() || (words.front() != "run" && words.front() != "exec")) return words;
  const CLI::App* command = app.get_subcommand(words.front());
  for (std::size_t at = 1; at < words.size() && words[at].starts_with("-"); ++at) {
    if (words[at] == "--") {
      words.erase(words.begin() + static_cast<std::ptrdiff_t>(at));
      break;
    }
    const CLI::Option* option = command->get_option_no_throw(words[at]);
    if (option != nullptr && option->get_expected_max() > 0) ++at;
  }
  return words;
}

void add_run(CLI::App& app, std::function<int()>& run) {
  const auto options = std::make_shared<RunOptions>();
  CLI::App* command = app.add_subcommand("run", "start ranks of a program, end them together");
  const auto add = [command](const char* name, const char* help,
                             std::function<void(const std::string&)> read) {
    return command->add_option_function<std::string>(name, std::move(read), help);
  };
  add("-n", "number of ranks", [options](const std::string& text) {
    options->ranks = number_in("-n", text, {1, kMostRanks});
  })->default_str("1");
  add("--timeout", "seconds after which all ranks are ended", [options](const std::string& text) {
    options->seconds = number_in("--timeout", text, {1, 1'000'000'000});
  });
  command->add_flag("--label", options->labels, "put the rank before each line of output");
  add("--hosts", "hosts to run on, with commas",
      [options](const std::string& text) { options->hosts = split(text, ','); });
  CLI::Option* agent = command
                           ->add_option("--agent", options->agent,
                                        "program that starts a command: AGENT HOST COMMAND")
                           ->capture_default_str();
  add("--env", "variables for ranks on other hosts, with commas",
      [options](const std::string& text) {
        if (!text.empty()) options->keep = split(text, ',');
      });
  command->add_option("--url", options->url, "meeting place of the ranks; default: tutti chooses");
  command->add_option("--follow", options->follow)->group("");  // only tutti itself uses it
  command->prefix_command();
  command->callback([options, command, agent, &run] {
    options->program = command->remaining();
    check(*options, agent->count() > 0);
    run = [options] { return run_job(*options); };
  });
}

}  // namespace tutti::command
