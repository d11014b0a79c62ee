#include "perf/run_guard.hpp"

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
#include <utility>

#include "perf/sweep_failure.hpp"

namespace tutti::perf {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kGrace{5};  // from SIGTERM to SIGKILL

void say(const std::string& text) {
  fmt::print(stderr, "tutti run: {}\n", text);
}

// The parent of a process, or 0 if it is gone. The name before it may hold anything but ends with
// the last bracket.
pid_t parent_of(const std::string& process) {
  std::ifstream file{"/proc/" + process + "/stat"};
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
  for (const dirent* entry = nullptr; stream && (entry = readdir(stream.get())) != nullptr;)
    if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' && parent_of(entry->d_name) == getpid())
      found.push_back(std::stoi(entry->d_name));
  return found;
}

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t length = write(file, text.data(), text.size());
    if (length < 0 && errno != EINTR) return false;
    if (length > 0) text.remove_prefix(static_cast<std::size_t>(length));
  }
  return true;
}

// Output of a member whose lines get a label.
struct Stream {
  Descriptor source;
  int target;
  std::string label;
  std::string line{};

  // Returns false at its end.
  bool pass_on() {
    constexpr std::size_t kLongestLine = 1U << 16U;
    std::array<char, 4096> part{};
    const ssize_t length = read(source.get(), part.data(), part.size());
    if (length < 0) return errno == EINTR || errno == EAGAIN;
    line.append(part.data(), static_cast<std::size_t>(length));
    if (length == 0 && !line.empty()) line += '\n';
    for (std::size_t end = 0; !line.empty();) {
      end = line.find('\n');
      if (end == std::string::npos && line.size() < kLongestLine) break;
      end = std::min(end, line.size() - 1) + 1;
      if (!write_all(target, label + line.substr(0, end))) return false;
      line.erase(0, end);
    }
    return length > 0;
  }
};

class Guard {
 public:
  explicit Guard(const Job& job) : job_{job} {
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    sigset_t signals;
    sigemptyset(&signals);
    for (const int number : {SIGCHLD, SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, number);
    sigprocmask(SIG_BLOCK, &signals, nullptr);
    signal(SIGPIPE, SIG_IGN);
    signals_ = Descriptor{signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK)};
  }

  int run() {
    try {
      for (const Member& member : job_.members) start(member);
    } catch (const Failure& failure) {
      say(failure.what());
      end(static_cast<int>(failure.code()));
    }
    if (job_.time) ends_at_ = Clock::now() + *job_.time;
    // Grandchildren that are left when all members have ended are ended as well.
    while (reap()) {
      if (running_.empty()) end(0);
      tell_adopted();
      wait();
    }
    for (Stream& stream : streams_)
      while (stream.pass_on()) {
      }
    return status_.value_or(0);
  }

 private:
  void start(const Member& member);
  bool reap();
  void ended(std::size_t index, int status);
  void end(int status);
  void tell_adopted();
  void wait();
  void on_signals();
  void on_typing();

  Job job_;
  Descriptor signals_{};
  std::vector<std::pair<pid_t, std::size_t>> running_{};  // and which member it is
  std::vector<pid_t> groups_{};                           // of members, while somebody is in them
  std::size_t started_ = 0;                               // members
  std::vector<Stream> streams_{};
  std::vector<Descriptor> lifelines_{};
  Descriptor typed_to_{};
  std::optional<int> status_{};  // set once the job is to end
  int last_signal_ = 0;          // what all were told
  std::set<pid_t> told_{};       // who were told it by themselves
  std::optional<Clock::time_point> ends_at_{};
  std::optional<Clock::time_point> kills_at_{};
};

void Guard::start(const Member& member) {
  Program program = member.program;
  std::array<Pipe, 2> outputs;
  Pipe input;
  if (!member.label.empty()) {
    outputs = {make_pipe(), make_pipe()};
    program.output = outputs[0].write.get();
    program.errors = outputs[1].write.get();
  }
  const bool is_typed_to = job_.terminal >= 0 && running_.empty();
  if (is_typed_to || member.has_lifeline) {
    input = make_pipe();
    program.input = input.read.get();
    if (!write_all(input.write.get(), member.first_words))
      throw Failure{ExitCode::environment, "a pipe takes nothing"};
  }
  const pid_t process = spawn(program);
  groups_.push_back(process);
  running_.emplace_back(process, started_++);
  for (std::size_t index = 0; index < 2 && !member.label.empty(); ++index) {
    fcntl(outputs[index].read.get(), F_SETFL, O_NONBLOCK);
    streams_.push_back({std::move(outputs[index].read), static_cast<int>(index) + 1, member.label});
  }
  if (is_typed_to) typed_to_ = std::move(input.write);
  else if (member.has_lifeline) lifelines_.push_back(std::move(input.write));
}

// Takes notice of all who have ended. Returns whether anybody is left.
bool Guard::reap() {
  for (;;) {
    int status = 0;
    const pid_t process = waitpid(-1, &status, WNOHANG);
    if (process == 0) return true;
    if (process < 0) return errno == EINTR;
    const auto member =
        std::find_if(running_.begin(), running_.end(),
                     [process](const auto& entry) { return entry.first == process; });
    if (member == running_.end()) continue;  // a grandchild whose parent had ended
    const std::size_t index = member->second;
    running_.erase(member);
    // The number of a group of which nobody is left may become a stranger's.
    if (kill(-process, 0) != 0 && errno == ESRCH) std::erase(groups_, process);
    ended(index, status);
  }
}

void Guard::ended(std::size_t index, int status) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  if (status_) return;  // it was told to end, or is not the first
  const std::string& name = job_.members[index].name;
  const std::string rest = job_.members.size() > 1 ? "; the others are ended" : "";
  if (WIFSIGNALED(status)) {
    say(fmt::format("{} was killed by signal {} ({}){}", name, WTERMSIG(status),
                    strsignal(WTERMSIG(status)), rest));
    end(128 + WTERMSIG(status));
  } else {
    say(fmt::format("{} exited with status {}{}", name, WEXITSTATUS(status), rest));
    end(WEXITSTATUS(status));
  }
}

// Tells everybody to end. The first status counts.
void Guard::end(int status) {
  if (!status_) status_ = status;
  if (last_signal_ != 0) return;
  last_signal_ = SIGTERM;
  kills_at_ = Clock::now() + kGrace;
  lifelines_.clear();
  for (const pid_t group : groups_) {
    kill(-group, SIGTERM);
    kill(-group, SIGCONT);  // who is stopped hears nothing
  }
}

// Those who left the groups of their members are found once their parents are gone.
void Guard::tell_adopted() {
  if (last_signal_ == 0) return;
  if (last_signal_ == SIGTERM && Clock::now() >= *kills_at_) {
    last_signal_ = SIGKILL;
    told_.clear();
    for (const pid_t group : groups_) kill(-group, SIGKILL);
  }
  for (const pid_t process : children()) {
    const bool is_member =
        std::any_of(running_.begin(), running_.end(),
                    [process](const auto& entry) { return entry.first == process; });
    if (is_member && last_signal_ == SIGTERM) continue;  // told with its group
    if (told_.insert(process).second) kill(process, last_signal_);
  }
}

// Sleeps until something happens.
void Guard::wait() {
  std::vector<pollfd> files{{signals_.get(), POLLIN, 0}};
  const int lifeline = status_ ? -1 : job_.lifeline;
  files.push_back({lifeline, POLLIN, 0});
  // What is typed is read only while it can be passed on without waiting.
  pollfd room{typed_to_.get(), POLLOUT, 0};
  const bool has_room = poll(&room, 1, 0) > 0;
  files.push_back(has_room ? pollfd{job_.terminal, POLLIN, 0} : room);
  for (const Stream& stream : streams_) files.push_back({stream.source.get(), POLLIN, 0});
  std::optional<Clock::time_point> until = status_ ? kills_at_ : ends_at_;
  if (last_signal_ == SIGKILL) until.reset();
  const auto left = until ? std::chrono::ceil<std::chrono::milliseconds>(*until - Clock::now())
                          : std::chrono::milliseconds{-1};
  constexpr std::int64_t kLongest = 1'000'000'000;
  const std::int64_t timeout = until ? std::clamp<std::int64_t>(left.count(), 0, kLongest) : -1;
  if (poll(files.data(), files.size(), static_cast<int>(timeout)) < 0) return;
  if (ends_at_ && !status_ && Clock::now() >= *ends_at_) {
    say(fmt::format("no end after {} s: all are ended",
                    std::chrono::duration<double>{*job_.time}.count()));
    end(static_cast<int>(ExitCode::deadline));
  }
  if (files[0].revents != 0) on_signals();
  if (files[1].revents != 0) {
    std::array<char, 256> ignored{};
    if (read(job_.lifeline, ignored.data(), ignored.size()) == 0) end(128 + SIGHUP);
  }
  if (files[2].revents != 0 && has_room) on_typing();
  for (std::size_t index = streams_.size(); index-- > 0;)
    if (files[3 + index].revents != 0 && !streams_[index].pass_on())
      streams_.erase(streams_.begin() + static_cast<std::ptrdiff_t>(index));
}

void Guard::on_signals() {
  signalfd_siginfo info{};
  while (read(signals_.get(), &info, sizeof info) == sizeof info)
    if (info.ssi_signo != SIGCHLD) end(128 + static_cast<int>(info.ssi_signo));
}

void Guard::on_typing() {
  std::array<char, 4096> part{};
  const ssize_t length = read(job_.terminal, part.data(), part.size());
  if (length < 0 && errno == EINTR) return;
  if (length <= 0 || !write_all(typed_to_.get(), {part.data(), static_cast<std::size_t>(length)}))
    typed_to_.reset();
}

}  // namespace

int guard(const Job& job) {
  return Guard{job}.run();
}

void end_orphans() {
  while (waitpid(-1, nullptr, WNOHANG) >= 0) {
    for (const pid_t process : children()) kill(process, SIGKILL);
    if (waitpid(-1, nullptr, 0) < 0 && errno == ECHILD) return;
  }
}

}  // namespace tutti::perf
