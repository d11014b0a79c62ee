// A child that is forked in the midst of what other threads of its parent do.
#include <csignal>
#include <latch>
#include <optional>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include "tests/runtime/worlds.hpp"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;

template <class Function>
bool is_refused(const Function& call) {
  try {
    call();
    return false;
  } catch (const Error& error) {
    return error.code() == ErrorCode::invalid_argument;
  }
}

/// @return what a function returned in a child, or -1 if it did not return.
int in_child(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  for (const Deadline end = in(kAmple); Clock::now() < end;) {
    if (waitpid(child, &status, WNOHANG) == child)
      return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    std::this_thread::sleep_for(10ms);
  }
  ::kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  return -1;
}

class WorldWithThreads : public ::testing::TestWithParam<Setting> {};

// Otherwise the other thread never leaves its call.
TEST_P(WorldWithThreads, LetsHandlesEndInAChildWhileAnotherIsInACall) {
  std::latch forked{1};
  expect_no_error(in_world(GetParam(), [&](Communicator& world) {
    std::int64_t value = 1;
    if (world.rank() != 0) forked.wait();
    std::optional<Request> request = world.async().all_reduce(std::span{&value, 1});
    if (world.rank() == 0) {
      std::thread waiting{[&] {
        while (is_refused([&] { world.barrier(); })) std::this_thread::yield();
      }};
      while (!is_refused([&] { request->test(); })) std::this_thread::yield();
      EXPECT_EQ(in_child([&] {
                  request.reset();
                  return 7;
                }),
                7);
      forked.count_down();
      waiting.join();
      request->wait();
    } else {
      world.barrier();
      request->wait();
    }
    EXPECT_EQ(value, world.size());
  }));
}

INSTANTIATE_TEST_SUITE_P(Settings, WorldWithThreads,
                         ::testing::Values(Setting{2, "shm", 1}, Setting{2, "tcp", 1},
                                           Setting{3, "auto", 2}),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace tutti::test
