// Processes that are killed, stopped or forked, and what the others say of it.
#include <csignal>
#include <cstdlib>
#include <sstream>
#include <thread>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "tests/runtime/ranks.hpp"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;
using runtime::Descriptor;

/// How ranks are started.
struct Crowd {
  int size = 4;
  bool is_local = true;
  int heartbeat = 250;
  int lost = 5000;
  std::string meeting{};  // a Unix socket's name; empty: they are given sockets
};

/// A rank's report of a failure.
struct Word {
  Clock::time_point time{};
  Rank culprit = -1;
  std::string text{};
};

/// Ranks in processes of their own.
class Processes {
 public:
  explicit Processes(const Crowd& crowd)
      : crowd_{crowd}, ranks_(static_cast<std::size_t>(crowd.size)) {
    std::vector<std::vector<Descriptor>> sockets(ranks_.size());
    for (auto& row : sockets) row.resize(ranks_.size());
    for (std::size_t low = 0; crowd.meeting.empty() && low < ranks_.size(); ++low)
      for (std::size_t high = low + 1; high < ranks_.size(); ++high) {
        std::array<int, 2> ends{};
        EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
        sockets[low][high].reset(ends[0]);
        sockets[high][low].reset(ends[1]);
      }
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) start(rank, sockets[rank]);
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
      EXPECT_EQ(line(static_cast<Rank>(rank), kAmple), "ready");
  }
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;
  ~Processes() {
    for (Running& rank : ranks_) {
      rank.input.reset();
      ::kill(rank.process, SIGCONT);
    }
    for (Running& rank : ranks_) {
      for (const Deadline end = in(kAmple);
           waitpid(rank.process, nullptr, WNOHANG) == 0 && Clock::now() < end;)
        std::this_thread::sleep_for(10ms);
      ::kill(rank.process, SIGKILL);
      waitpid(rank.process, nullptr, 0);
    }
  }

  void signal(Rank rank, int number) { ::kill(at(rank).process, number); }
  void order(Rank rank, const std::string& text) {
    EXPECT_EQ(write(at(rank).input.get(), text.data(), text.size()),
              static_cast<ssize_t>(text.size()));
  }
  void leave(Rank rank) { at(rank).input.reset(); }
  /// @return the next line of its output, or nothing if none comes in time.
  std::string line(Rank rank, milliseconds patience) {
    const auto deadline = in(patience);
    std::string text;
    for (char byte = 0; runtime::wait_for(at(rank).output.get(), POLLIN, deadline);) {
      if (read(at(rank).output.get(), &byte, 1) != 1) return {};
      if (byte == '\n') return text;
      text += byte;
    }
    return {};
  }
  /// @return what it says of a failure, if it does in time.
  std::optional<Word> word(Rank rank, milliseconds patience) {
    const std::string said = line(rank, patience);
    if (said.empty()) return {};
    std::istringstream stream{said};
    long long nanoseconds = 0;
    Word result;
    stream >> nanoseconds >> result.culprit;
    result.time = Clock::time_point{std::chrono::nanoseconds{nanoseconds}};
    std::getline(stream >> std::ws, result.text);
    return result;
  }

 private:
  struct Running {
    pid_t process = -1;
    Descriptor input{};
    Descriptor output{};
  };
  [[nodiscard]] Running& at(Rank rank) { return ranks_[static_cast<std::size_t>(rank)]; }

  // Between fork and exec nothing is allocated: other threads of the test may hold locks.
  void start(std::size_t rank, const std::vector<Descriptor>& sockets) {
    std::vector<std::string> words{TUTTI_CONTROL_CHILD,
                                   std::to_string(rank),
                                   std::to_string(crowd_.size),
                                   crowd_.is_local ? "1" : "0",
                                   std::to_string(crowd_.heartbeat),
                                   std::to_string(crowd_.lost)};
    if (!crowd_.meeting.empty()) words.push_back(crowd_.meeting);
    else
      for (const Descriptor& socket : sockets) words.push_back(std::to_string(socket.get()));
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    std::array<int, 2> in{};
    std::array<int, 2> out{};
    EXPECT_EQ(pipe2(in.data(), O_CLOEXEC), 0);
    EXPECT_EQ(pipe2(out.data(), O_CLOEXEC), 0);
    const pid_t child = fork();
    if (child == 0) {
      dup2(in[0], STDIN_FILENO);
      dup2(out[1], STDOUT_FILENO);
      for (const Descriptor& socket : sockets)
        if (socket) fcntl(socket.get(), F_SETFD, 0);
      execv(arguments[0], arguments.data());
      _exit(127);
    }
    ranks_[rank] = {child, Descriptor{in[1]}, Descriptor{out[0]}};
    close(in[0]);
    close(out[1]);
  }

  Crowd crowd_;
  std::vector<Running> ranks_;
};

TEST(ControlOfProcesses, NamesAKilledRankEverywhere) {
  std::vector<milliseconds> delays;
  for (int trial = 0; trial < 20; ++trial) {
    Processes ranks{{.size = 4}};
    const Rank victim = trial % 4;
    const auto start = Clock::now();
    ranks.signal(victim, SIGKILL);
    for (Rank rank = 0; rank < 4; ++rank) {
      if (rank == victim) continue;
      const auto word = ranks.word(rank, kAmple);
      ASSERT_TRUE(word);
      EXPECT_EQ(word->culprit, victim);
      EXPECT_EQ(word->text, "rank " + std::to_string(victim) + " (host here) has ended");
      delays.push_back(std::chrono::duration_cast<milliseconds>(word->time - start));
    }
  }
  std::ranges::sort(delays);
  RecordProperty("median_ms", static_cast<int>(delays[delays.size() / 2].count()));
  RecordProperty("most_ms", static_cast<int>(delays.back().count()));
}

TEST(ControlOfProcesses, NamesOneOfTwoThatAreKilledAtOnce) {
  for (int trial = 0; trial < 5; ++trial) {
    Processes ranks{{.size = 5}};
    ranks.signal(3, SIGKILL);
    ranks.signal(1, SIGKILL);
    const auto first = ranks.word(0, kAmple);
    ASSERT_TRUE(first);
    for (const Rank rank : {2, 4}) {
      const auto word = ranks.word(rank, kAmple);
      ASSERT_TRUE(word);
      EXPECT_EQ(word->text, first->text);
    }
  }
}

TEST(ControlOfProcesses, TakesASilentExitForADeath) {
  Processes ranks{{.size = 3}};
  ranks.order(1, "exit\n");
  for (const Rank rank : {0, 2}) {
    const auto word = ranks.word(rank, kAmple);
    ASSERT_TRUE(word);
    EXPECT_EQ(word->culprit, 1);
  }
}

TEST(ControlOfProcesses, TakesAGoodbyeForNoDeath) {
  Processes ranks{{.size = 3}};
  ranks.leave(1);
  EXPECT_FALSE(ranks.word(0, 200ms));
  EXPECT_FALSE(ranks.word(2, 10ms));
}

// A forked child keeps its parent's sockets open, so no stream ends with the process.
TEST(ControlOfProcesses, SeesADeathThatAForkedChildConceals) {
  Processes ranks{{.size = 2, .meeting = "tutti-control-test-" + std::to_string(getpid())}};
  ranks.order(1, "fork\n");
  EXPECT_EQ(ranks.line(1, kAmple), "forked");
  const auto start = Clock::now();
  ranks.signal(1, SIGKILL);
  const auto word = ranks.word(0, kAmple);
  ASSERT_TRUE(word);
  EXPECT_EQ(word->culprit, 1);
  EXPECT_LT(word->time - start, kLongBefore);  // the child stays until the test ends
}

TEST(ControlOfProcesses, AccusesNobodyWhereAllWereStopped) {
  EXPECT_TRUE(with_enough_time(300ms, [](milliseconds lost) {
    Processes ranks{
        {.size = 3, .is_local = false, .heartbeat = 20, .lost = static_cast<int>(lost.count())}};
    for (Rank rank = 0; rank < 3; ++rank) ranks.signal(rank, SIGSTOP);
    std::this_thread::sleep_for(3 * lost);
    for (Rank rank = 0; rank < 3; ++rank) ranks.signal(rank, SIGCONT);
    std::this_thread::sleep_for(2 * lost);
    bool is_quiet = true;
    for (Rank rank = 0; rank < 3; ++rank) is_quiet = !ranks.word(rank, 10ms) && is_quiet;
    return is_quiet;
  }));
}

TEST(ControlOfProcesses, TellsAStoppedRankThatItWasGivenUp) {
  Processes ranks{{.size = 3, .is_local = false, .heartbeat = 20, .lost = 1000}};
  ranks.signal(2, SIGSTOP);
  const auto first = ranks.word(0, kAmple);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->text, "rank 2 (host here) has sent no message for 1000 ms");
  EXPECT_EQ(ranks.word(1, kAmple)->text, first->text);
  ranks.signal(2, SIGCONT);
  const auto own = ranks.word(2, kAmple);
  ASSERT_TRUE(own);
  EXPECT_EQ(own->text, first->text);
  EXPECT_EQ(own->culprit, 2);
}

}  // namespace
}  // namespace tutti::test
