// A rank in a process of its own, which watches the others and prints their failures.
//
// control_child RANK SIZE HOSTS HEARTBEAT_MS LOST_MS (NAME | SOCKET...)
//   HOSTS   1 if all ranks share one, else they are on different ones
//   NAME    of a Unix socket on which two ranks meet; else a socket per rank, -1 for the own
// Its input: a line "fork" makes a child that stays until the end of the input; "exit" ends it
// without a goodbye; the end of the input ends it in good order. Its output: "ready", and what the
// alarm says, in a line.
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "runtime/control/control.hpp"
#include "tests/support/patience.hpp"

namespace {

using namespace std::chrono_literals;
using namespace tutti;
using Clock = std::chrono::steady_clock;

runtime::Descriptor meet(Rank rank, const std::string& name) {
  const auto deadline = Clock::now() + test::kAmple;
  if (rank == 0) {
    const runtime::Descriptor listener = runtime::listen_locally(name);
    if (!runtime::wait_for(listener.get(), POLLIN, deadline)) return {};
    return runtime::Descriptor{accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC)};
  }
  runtime::Descriptor made;
  while (!made && Clock::now() < deadline) {
    made = runtime::connect_locally(name, deadline);
    if (!made) std::this_thread::sleep_for(1ms);
  }
  return made;
}

void say_what_it_says(const FailureSignal& failure_signal) {
  const auto now = std::chrono::nanoseconds{Clock::now().time_since_epoch()}.count();
  try {
    failure_signal.check();
  } catch (const Error& error) {
    std::printf("%lld %d %s\n", static_cast<long long>(now), error.culprit(), error.what());
    std::fflush(stdout);
  }
}

void pause_until_the_input_ends() {
  for (char byte = 0; read(STDIN_FILENO, &byte, 1) > 0;) continue;
}

/// @return whether to go on.
bool obey() {
  std::array<char, 64> line{};
  const ssize_t got = read(STDIN_FILENO, line.data(), line.size() - 1);
  const std::string order{line.data(), got > 0 ? static_cast<std::size_t>(got) : 0};
  if (order == "exit\n") _exit(0);
  if (order == "fork\n" && fork() == 0) {
    alarm(static_cast<unsigned>(test::kAmple.count()));
    std::puts("forked");
    std::fflush(stdout);
    pause_until_the_input_ends();
    _exit(0);
  }
  return got > 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 7) return 2;
  const Rank self = std::atoi(argv[1]);
  const int size = std::atoi(argv[2]);
  const bool is_local = std::atoi(argv[3]) == 1;
  const runtime::HeartbeatSettings heartbeat{std::chrono::milliseconds{std::atoi(argv[4])},
                                             std::chrono::milliseconds{std::atoi(argv[5])}};
  std::vector<runtime::WatchedProcess> peers;
  std::vector<Rank> members;
  for (Rank rank = 0; rank < size; ++rank) {
    members.push_back(rank);
    if (rank == self) continue;
    const bool has_socket = argc == 6 + size;
    peers.push_back({.rank = rank,
                     .host = "here",
                     .is_local = is_local,
                     .socket = has_socket ? runtime::Descriptor{std::atoi(argv[6 + rank])}
                                          : meet(self, argv[6])});
  }
  runtime::Control control{self, std::move(peers), heartbeat};
  const auto failure_signal = control.watch(1, members);
  std::puts("ready");
  std::fflush(stdout);
  for (bool has_said = false;;) {
    if (!has_said && failure_signal->is_raised()) {
      has_said = true;
      say_what_it_says(*failure_signal);
    }
    pollfd input{STDIN_FILENO, POLLIN, 0};
    if (poll(&input, 1, 0) > 0 && !obey()) return 0;
    std::this_thread::sleep_for(100us);
  }
}
