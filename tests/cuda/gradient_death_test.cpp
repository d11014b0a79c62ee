// A rank that is killed when all of a step is enqueued and nothing of it has run: its GPU does no
// more, so that nobody else's comes to the end. Ranks are processes.
#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gradients.hpp"
#include "tests/support/patience.hpp"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;

const std::vector<std::size_t> kDeathLayers{3000, 50, 2000};
constexpr int kTold = 42;  // the exit status of a survivor that got the error

/// @return what a function throws, or nothing.
template <class Function>
std::string error_of(Function function) {
  try {
    function();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

/// One good step, one that is held up on rank 1, which dies, and rank 0's error.
void go_on_until_death(Communicator& world, const std::string& transport, bool synchronizes) {
  const Gpu gpu{world.rank()};
  cuda::attach(world, {.device = world.rank(), .transport = transport, .timeout = 5s});
  GpuModel model{gpu, kDeathLayers};
  auto sync = std::make_unique<GradientSync>(
      world, model.parameters(), GradientOptions{.bucket_bytes = 0, .stream = gpu.compute.get()});
  model.prepare(world.rank(), 0);
  model.go_backward(*sync);
  sync->wait();
  model.enqueue_results(*sync);
  ASSERT_EQ(model.problem(model.results(), world.size(), 0), "");
  const bool is_killed = world.rank() == 1;
  std::optional<Hold> hold;
  if (is_killed) hold.emplace(gpu);
  model.go_backward(*sync);
  sync->wait();
  if (is_killed) ::raise(SIGKILL);
  const auto begin = Clock::now();
  // A stream's end, or the next steps, whichever the program comes to.
  const std::string told = error_of([&] {
    if (synchronizes) return sync->synchronize(kAmple);
    for (;;) {
      model.go_backward(*sync);
      sync->wait();
    }
  });
  // NCCL may be the first to fail, and does not name the rank.
  EXPECT_TRUE(told.find("rank 1") != std::string::npos ||
              told.find("remote process exited") != std::string::npos)
      << told;
  gpu.wait();  // it goes on
  sync.reset();
  EXPECT_LT(Clock::now() - begin, kLongBefore);
}

/// Messages to a child process, by its standard input.
struct Told {
  Rank rank = 0;
  bool synchronizes = false;
  std::string transport{};
  std::string url{};
};

TEST(GpuGradientDeathChild, DISABLED_Rank) {
  Told told;
  ASSERT_TRUE(std::cin >> told.rank >> told.synchronizes >> told.transport >> told.url);
  {
    Communicator world = tutti::init(
        {.url = told.url, .rank = told.rank, .size = 2, .communicator = {.timeout = kAmple}});
    go_on_until_death(world, told.transport, told.synchronizes);
  }
  if (!HasFailure()) std::exit(kTold);
}

struct Child {
  pid_t process;
  /// Kills it where it does not end. @return its status as of waitpid.
  [[nodiscard]] int status() const {
    int status = 0;
    for (const auto end = Clock::now() + 2 * kAmple; Clock::now() < end;) {
      if (waitpid(process, &status, WNOHANG) == process) return status;
      usleep(10'000);
    }
    ::kill(process, SIGKILL);
    waitpid(process, &status, 0);
    return -1;
  }
};

/// Starts this program once more.
Child start(const Told& told) {
  std::array<std::string, 4> words{"/proc/self/exe",
                                   "--gtest_filter=GpuGradientDeathChild.DISABLED_Rank",
                                   "--gtest_also_run_disabled_tests", "--gtest_brief=1"};
  std::array<char*, words.size() + 1> arguments{};
  std::ranges::transform(words, arguments.begin(), [](std::string& word) { return word.data(); });
  std::ostringstream line;
  line << told.rank << " " << told.synchronizes << " " << told.transport << " " << told.url << "\n";
  std::array<int, 2> ends{};
  EXPECT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  const pid_t process = fork();
  if (process == 0) {
    dup2(ends[0], STDIN_FILENO);
    unsetenv("CUDA_STANDIN_LEAKS");  // what the dead may still see is not given back
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  close(ends[0]);
  EXPECT_EQ(write(ends[1], line.str().data(), line.str().size()),
            static_cast<ssize_t>(line.str().size()));
  close(ends[1]);
  return {process};
}

void expect_that_the_survivor_is_told(const std::string& transport, bool synchronizes) {
  if (const std::string why = harness::lack_of(2); !why.empty()) GTEST_SKIP() << why;
  const std::filesystem::path folder =
      std::filesystem::path{::testing::TempDir()} / ("gradients." + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  std::vector<Child> ranks;
  for (Rank rank = 0; rank < 2; ++rank)
    ranks.push_back(start({.rank = rank,
                           .synchronizes = synchronizes,
                           .transport = transport,
                           .url = "file://" + (folder / "world").string()}));
  const int survivor = ranks[0].status();
  EXPECT_TRUE(WIFEXITED(survivor) && WEXITSTATUS(survivor) == kTold) << survivor;
  const int killed = ranks[1].status();
  EXPECT_TRUE(WIFSIGNALED(killed) && WTERMSIG(killed) == SIGKILL) << killed;
  std::filesystem::remove_all(folder);
}

TEST(GpuGradientDeath, IsToldByTheNextStepOverNccl) {
  expect_that_the_survivor_is_told("nccl", false);
}
TEST(GpuGradientDeath, IsToldByTheNextStepOverTheHost) {
  expect_that_the_survivor_is_told("host", false);
}
TEST(GpuGradientDeath, IsToldBySynchronizeOverNccl) {
  expect_that_the_survivor_is_told("nccl", true);
}
TEST(GpuGradientDeath, IsToldBySynchronizeOverTheHost) {
  expect_that_the_survivor_is_told("host", true);
}

}  // namespace
}  // namespace tutti::test
