#include "command/run_guard.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>
#include <utility>

#include "command/run_stream.hpp"
#include "perf/dispositions.hpp"
#include "perf/failure.hpp"
#include "runtime/sockets/socket.hpp"

namespace tutti::command {

using perf::ExitCode;
using perf::Failure;
using perf::make_pipe;

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kGrace{5};  // from SIGTERM to SIGKILL

void say(const std::string& text) {
  fmt::print(stderr, "tutti run: {}\n", text);
}

void require(bool succeeded, const char* what) {
  if (!succeeded)
    throw Failure{ExitCode::environment, fmt::format("{}: {}", what, std::strerror(errno))};
}

// The parent of a process, or 0 if it has ended. In its status file the name comes before the
// parent. It can contain any character; the last bracket ends it.
pid_t parent_of(const std::string& process) {
  errno = 0;
  std::ifstream file{"/proc/" + process + "/stat"};
  require(file.is_open() || (errno != EMFILE && errno != ENFILE && errno != ENOMEM),
          "cannot look for processes");
  std::string text;
  std::getline(file, text, '\0');
  const std::size_t end = text.rfind(')');
  pid_t parent = 0;
  char state = 0;
  if (end != std::string::npos) std::sscanf(text.c_str() + end + 1, " %c %d", &state, &parent);
  return parent;
}

std::vector<pid_t> children() {
  std::vector<pid_t> found;
  const std::unique_ptr<DIR, int (*)(DIR*)> stream{opendir("/proc"), closedir};
  require(stream != nullptr, "cannot look for processes in /proc");
  for (const dirent* entry = nullptr; (entry = readdir(stream.get())) != nullptr;)
    if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' && parent_of(entry->d_name) == getpid())
      found.push_back(std::stoi(entry->d_name));
  return found;
}

// Describes how a process ended.
std::string text_of_end(int status) {
  if (WIFSIGNALED(status))
    return fmt::format("was killed by signal {} ({})", WTERMSIG(status),
                       strsignal(WTERMSIG(status)));
  return fmt::format("exited with status {}", WEXITSTATUS(status));
}

class Guard {
 public:
  explicit Guard(const Job& job) : job_{job} {
    require(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0, "cannot become the parent of orphans");
    const sigset_t signals = guard_signals();
    require(sigprocmask(SIG_BLOCK, &signals, nullptr) == 0, "cannot block signals");
    perf::ignore_signal(SIGPIPE);
    signals_ = runtime::Descriptor{signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK)};
    require(bool{signals_}, "cannot watch for signals (signalfd)");
  }

  // Runs the job. If a system call fails, the guard ends the job as far as it can. It reports only
  // the first failure, since that causes the others.
  int run() {
    try {
      return run_members();
    } catch (const Failure& failure) {
      const bool is_first = status_.value_or(0) == 0;
      if (is_first) status_ = static_cast<int>(failure.code());
      if (is_first) report(job_, *status_, failure.what());
      for (const pid_t group : groups_) kill(-group, SIGKILL);
      end_orphans();
      return *status_;
    }
  }

  // Prints the first failure in one line, or passes it to the leading `tutti run`, which prints it.
  // An empty text needs no line.
  static void report(const Job& job, int status, const std::string& text) {
    if (job.lifeline >= 0) report_to_leader(fmt::format("failure {} {}", status, text));
    else if (!text.empty()) say(text + (job.ranks > 1 ? "; the others are ended" : ""));
  }

 private:
  int run_members() {
    try {
      for (const Member& member : job_.members) start(member);
    } catch (const Failure& failure) {
      fail(static_cast<int>(failure.code()), failure.what());
    }
    if (job_.time) ends_at_ = Clock::now() + *job_.time;
    // When all members have ended, their remaining descendants are ended as well.
    while (reap()) {
      if (running_.empty()) end(0);
      tell_adopted();
      if (job_.notices) job_.notices->progress();
      wait();
    }
    for (auto& [member, stream] : streams_)
      while (read_output(member, stream)) {
      }
    return status_.value_or(0);
  }
  void start(const Member& member);
  bool reap();
  void ended(std::size_t index, int status);
  void fail(int status, const std::string& text);
  void end(int status);
  static void send(pid_t process, int number);
  bool read_output(std::size_t member, Stream& stream);
  void on_line(std::size_t member, const std::string& word);
  void tell_adopted();
  void wait();
  void on_signals();
  void on_typing();

  Job job_;
  runtime::Descriptor signals_{};
  std::vector<std::pair<pid_t, std::size_t>> running_{};  // process and index of its member
  std::vector<pid_t> groups_{};  // process groups of members that are not empty
  std::size_t started_ = 0;      // number of members
  std::vector<std::pair<std::size_t, Stream>> streams_{};  // with the index of its member
  std::vector<runtime::Descriptor> lifelines_{};
  runtime::Descriptor typed_to_{};
  std::optional<int> status_{};  // set once the job has to end
  int last_signal_ = 0;          // sent to all processes
  std::set<pid_t> notified_{};   // got the last signal without their group
  std::optional<Clock::time_point> ends_at_{};
  std::optional<Clock::time_point> kills_at_{};
};

void Guard::start(const Member& member) {
  perf::Program program = member.program;
  std::array<perf::Pipe, 2> outputs;
  perf::Pipe input;
  if (!member.label.empty() || member.is_follower) {
    outputs[0] = make_pipe();
    program.output = outputs[0].write.get();
  }
  if (!member.label.empty()) {
    outputs[1] = make_pipe();
    program.errors = outputs[1].write.get();
  }
  const bool is_typed_to = job_.terminal >= 0 && running_.empty();
  if (is_typed_to || member.is_follower) {
    input = make_pipe();
    program.input = input.read.get();
    if (!write_all(input.write.get(), member.first_words))
      throw Failure{ExitCode::environment, "a pipe accepts no bytes"};
  }
  const pid_t process = perf::spawn(program);
  groups_.push_back(process);
  for (int index = 0; index < 2; ++index) {
    runtime::Descriptor& output = outputs[static_cast<std::size_t>(index)].read;
    if (!output) continue;
    require(fcntl(output.get(), F_SETFL, O_NONBLOCK) == 0, "cannot make a pipe not block");
    streams_.emplace_back(started_, Stream{std::move(output), index + 1, member.label});
  }
  running_.emplace_back(process, started_++);
  if (is_typed_to) typed_to_ = std::move(input.write);
  else if (member.is_follower) lifelines_.push_back(std::move(input.write));
}

// Collects the exit statuses of ended processes. Returns whether any process is left.
bool Guard::reap() {
  for (;;) {
    int status = 0;
    const pid_t process = waitpid(-1, &status, WNOHANG);
    if (process == 0) return true;
    require(process > 0 || errno == EINTR || errno == ECHILD, "cannot wait for processes");
    if (process < 0) return errno == EINTR;
    const auto member =
        std::find_if(running_.begin(), running_.end(),
                     [process](const auto& entry) { return entry.first == process; });
    if (member == running_.end()) continue;  // a descendant whose parent had ended
    const std::size_t index = member->second;
    running_.erase(member);
    // The system can reuse the number of an empty group.
    if (kill(-process, 0) != 0 && errno == ESRCH) std::erase(groups_, process);
    ended(index, status);
  }
}

void Guard::ended(std::size_t index, int status) {
  // Ranks in init may wait for a member that ended before it called init. The notice ends their
  // wait, which would otherwise last until their deadline.
  if (job_.notices)
    job_.notices->add(job_.first_rank + static_cast<Rank>(index), text_of_end(status));
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  // Reads a follower's remaining output before it handles its end.
  for (auto& [member, stream] : streams_)
    if (member == index && !status_) read_output(member, stream);
  if (status_) return;  // the job is ending already, so this is not the first failure
  const Member& member = job_.members[index];
  const bool is_killed = WIFSIGNALED(status);
  const std::string text = member.name + " " + text_of_end(status);
  fail(is_killed ? 128 + WTERMSIG(status) : WEXITSTATUS(status),
       member.explains && !is_killed ? std::string{} : text);
}

// The first failure ends the job.
void Guard::fail(int status, const std::string& text) {
  report(job_, status, text);
  end(status);
}

// Returns false at the end of the output.
bool Guard::read_output(std::size_t member, Stream& stream) {
  std::vector<std::string> words;
  const bool is_open = stream.pass_on(words);
  for (const std::string& word : words) on_line(member, word);
  if (!stream.is_refused() || status_.value_or(0) != 0) return is_open;
  status_.reset();  // all members ended well
  fail(static_cast<int>(ExitCode::environment),
       fmt::format("cannot write to standard {}", stream.target() == 1 ? "output" : "error"));
  return is_open;
}

void Guard::on_line(std::size_t member, const std::string& word) {
  std::istringstream letters{word};
  std::string kind;
  int number = 0;
  letters >> kind >> number;
  std::string text;
  std::getline(letters >> std::ws, text);
  if (kind == "port")
    for (const auto& lifeline : lifelines_)  // a follower that cannot read it has ended
      write_all(lifeline.get(), fmt::format("{}{}\n", job_.meeting_host, number));
  if (kind == "failure" && !status_)
    fail(number, text.empty() ? text : job_.members[member].name + ": " + text);
}

// Ends all members. The first status becomes the exit status.
void Guard::end(int status) {
  if (!status_) status_ = status;
  if (last_signal_ != 0) return;
  last_signal_ = SIGTERM;
  kills_at_ = Clock::now() + kGrace;
  lifelines_.clear();
  for (const pid_t group : groups_) {
    send(-group, SIGTERM);
    send(-group, SIGCONT);  // a stopped process handles no signal
  }
}

// Sends a signal to a process or a group that may have ended.
void Guard::send(pid_t process, int number) {
  require(kill(process, number) == 0 || errno == ESRCH, "cannot end processes");
}

// The guard adopts a process that has left its group when the parent of that process has ended.
void Guard::tell_adopted() {
  if (last_signal_ == 0) return;
  if (last_signal_ == SIGTERM && Clock::now() >= *kills_at_) {
    last_signal_ = SIGKILL;
    notified_.clear();
    for (const pid_t group : groups_) send(-group, SIGKILL);
  }
  std::vector<pid_t> found;
  try {
    found = children();
  } catch (const Failure&) {
    if (running_.empty()) throw;  // no other code ends them
  }
  for (const pid_t process : found) {
    const bool is_member =
        std::any_of(running_.begin(), running_.end(),
                    [process](const auto& entry) { return entry.first == process; });
    if (is_member && last_signal_ == SIGTERM) continue;  // signalled with its group
    if (notified_.insert(process).second) send(process, last_signal_);
  }
}

// Sleeps until something happens.
void Guard::wait() {
  std::vector<pollfd> files{{signals_.get(), POLLIN, 0}};
  const int lifeline = status_ ? -1 : job_.lifeline;
  files.push_back({lifeline, POLLIN, 0});
  // Input is read only while it can be passed on without waiting.
  pollfd room{typed_to_.get(), POLLOUT, 0};
  const bool has_room = poll(&room, 1, 0) > 0;
  files.push_back(has_room ? pollfd{job_.terminal, POLLIN, 0} : room);
  files.push_back({job_.notices ? job_.notices->descriptor() : -1, POLLIN, 0});
  const std::size_t first_stream = files.size();
  for (const auto& [member, stream] : streams_) files.push_back({stream.source(), POLLIN, 0});
  constexpr Clock::time_point kNever = Clock::time_point::max();
  Clock::time_point until = (status_ ? kills_at_ : ends_at_).value_or(kNever);
  if (last_signal_ == SIGKILL) until = kNever;
  if (job_.notices) until = std::min(until, job_.notices->next_deadline());
  const int ready = poll(files.data(), files.size(), runtime::milliseconds_until(until));
  require(ready >= 0 || errno == EINTR || errno == EAGAIN, "cannot wait for the job (poll)");
  if (ready < 0) return;
  if (ends_at_ && !status_ && Clock::now() >= *ends_at_) {
    say(fmt::format("not finished after {} s: all ranks are ended",
                    std::chrono::duration<double>{*job_.time}.count()));
    end(static_cast<int>(ExitCode::deadline));
  }
  if (files[0].revents != 0) on_signals();
  if (files[1].revents != 0) {
    std::array<char, 256> ignored{};
    const ssize_t length = read(job_.lifeline, ignored.data(), ignored.size());
    require(length >= 0 || errno == EINTR || errno == EAGAIN, "cannot read standard input");
    if (length == 0) end(128 + SIGHUP);
  }
  if (files[2].revents != 0 && has_room) on_typing();
  for (std::size_t index = streams_.size(); index-- > 0;)
    if (files[first_stream + index].revents != 0 &&
        !read_output(streams_[index].first, streams_[index].second))
      streams_.erase(streams_.begin() + static_cast<std::ptrdiff_t>(index));
}

void Guard::on_signals() {
  signalfd_siginfo info{};
  ssize_t length = 0;
  while ((length = read(signals_.get(), &info, sizeof info)) == sizeof info)
    if (info.ssi_signo != SIGCHLD) end(128 + static_cast<int>(info.ssi_signo));
  require(length >= 0 || errno == EAGAIN || errno == EINTR, "cannot read signals");
}

void Guard::on_typing() {
  std::array<char, 4096> part{};
  const ssize_t length = read(job_.terminal, part.data(), part.size());
  if (length < 0 && errno == EINTR) return;
  if (length <= 0 || !write_all(typed_to_.get(), {part.data(), static_cast<std::size_t>(length)}))
    typed_to_.reset();
}

}  // namespace

sigset_t launcher_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGCHLD, SIGTERM, SIGINT, SIGHUP})
    if (!perf::is_ignored(number)) sigaddset(&signals, number);
  return signals;
}

int parent_death_signal() {
  return SIGRTMIN;
}

sigset_t guard_signals() {
  sigset_t signals = launcher_signals();
  sigaddset(&signals, parent_death_signal());
  return signals;
}

int guard(const Job& job) {
  try {
    return Guard{job}.run();
  } catch (const Failure& failure) {  // nothing was started
    Guard::report(job, static_cast<int>(failure.code()), failure.what());
    return static_cast<int>(failure.code());
  }
}

void end_orphans() try {
  while (waitpid(-1, nullptr, WNOHANG) >= 0) {
    bool is_told = true;
    for (const pid_t process : children()) is_told = kill(process, SIGKILL) == 0 && is_told;
    if (!is_told) return;  // processes that got no signal may never end
    if (waitpid(-1, nullptr, 0) < 0 && errno != EINTR) return;
  }
} catch (const Failure&) {  // they cannot be found
}

}  // namespace tutti::command
