// Ranks that are processes, on the stand-in for the driver, one of which is killed in the midst of
// a call on a stream: all others end with an error, and so do their streams.
#include <chrono>
#include <csignal>
#include <iostream>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tutti/cuda.hpp>
#include <tutti/init.hpp>

#include "device_floats.hpp"
#include "host_world.hpp"
#include "runtime/launch/config.hpp"
#include "tests/support/patience.hpp"

namespace tutti::harness {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr int kRanks = 3;
constexpr Rank kVictim = 1;
constexpr int kRound = 3;  // in which it dies
constexpr std::size_t kElements = 3'000'000;
constexpr int kSkipped = 77;  // exit status

/// The transport of calls.
struct Death {
  const char* transport;  // of the host
  bool visible;           // in memory of peers
  const char* gpu = "host";
};
std::ostream& operator<<(std::ostream& out, const Death& death) {
  return out << death.transport << (death.visible ? "_peers_" : "_messages_") << death.gpu;
}

/// If memory ends with its process, the GPUs that access it fail, and so do their streams.
bool ends(const cuda::Device& device, Stream stream) {
  const auto environment = runtime::process_environment();
  const auto dead = environment.find("CUDA_STANDIN_DEAD");
  if (dead == environment.end() || dead->second != "lost") return comes_to_an_end(device, stream);
  const cuda::Device::Current current{device};
  const auto deadline = Clock::now() + test::kAmple;
  auto* const handle = static_cast<CUstream>(stream.handle());
  while (device.driver().calls().query(handle) == CUDA_ERROR_NOT_READY) {
    if (Clock::now() > deadline) return false;
    std::this_thread::sleep_for(1ms);
  }
  return true;
}

/// Calls until an error comes. @return what is wrong with it, or nothing.
std::string meet_death(Communicator& world, const cuda::Device& device, std::span<float> data,
                       bool visible) {
  const OwnStream stream{device};
  const Options how{.algorithm = "ring", .visible = visible, .stream = stream.get()};
  const auto start = Clock::now();
  try {
    for (int round = 0;; ++round) {
      world.all_reduce(data, max, how);
      if (round == kRound && world.rank() == kVictim) ::raise(SIGKILL);
      cuda::wait(world, stream.get(), test::kAmple);
      if (round > kRound) return "calls go on without a rank";
    }
  } catch (const Error& error) {
    if (error.code() == ErrorCode::timeout) return error.what();
    if (Clock::now() - start > test::kLongBefore) return std::string{"late: "} + error.what();
  }
  if (!ends(device, stream.get())) return "the stream goes on";
  return {};
}

int live(Rank rank, const std::string& url, const Death& death) {
  if (!lack_of(death.gpu == std::string_view{"host"} ? 1 : kRanks).empty()) return kSkipped;
  try {
    Communicator world = init({.url = url,
                               .rank = rank,
                               .size = kRanks,
                               .transport = death.transport,
                               .timeout = test::kAmple});
    const bool is_nonblocking = std::string_view{death.gpu} == "nonblocking";
    cuda::attach(world, {.device = device_of(rank),
                         .transport = is_nonblocking ? "nccl" : death.gpu,
                         .visible = death.visible,
                         .timeout = 1500ms,
                         .nonblocking = is_nonblocking});
    const auto device = std::make_shared<const cuda::Device>(std::make_shared<const cuda::Driver>(),
                                                             device_of(rank));
    Buffer<float> data = cuda::allocate<float>(world, kElements);
    const std::string wrong = meet_death(world, *device, data.span(), death.visible);
    if (wrong.empty()) return 0;
    std::cerr << "rank " << rank << ": " << wrong << "\n";
  } catch (const std::exception& error) {
    std::cerr << "rank " << rank << ": " << error.what() << "\n";
  }
  return 1;
}

class GpuDeaths : public ::testing::TestWithParam<Death> {};

/// This process itself never starts the driver, so that its children can.
TEST_P(GpuDeaths, EndCallsOfAllOtherRanks) {
  const std::string url = "unix://tutti-deaths-" + std::to_string(::getpid()) + "-" +
                          ::testing::PrintToString(GetParam());
  std::vector<pid_t> children;
  for (Rank rank = 0; rank < kRanks; ++rank) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) ::_exit(live(rank, url, GetParam()));
    children.push_back(child);
  }
  std::vector<int> states(children.size());
  for (std::size_t i = 0; i < children.size(); ++i)
    ASSERT_EQ(::waitpid(children[i], &states[i], 0), children[i]);
  if (WIFEXITED(states[0]) && WEXITSTATUS(states[0]) == kSkipped)
    GTEST_SKIP() << "there are too few GPUs";
  for (std::size_t i = 0; i < children.size(); ++i) {
    if (static_cast<Rank>(i) == kVictim) {
      EXPECT_TRUE(WIFSIGNALED(states[i]) && WTERMSIG(states[i]) == SIGKILL) << states[i];
    } else {
      EXPECT_TRUE(WIFEXITED(states[i]) && WEXITSTATUS(states[i]) == 0)
          << "rank " << i << ": " << states[i];
    }
  }
}

INSTANTIATE_TEST_SUITE_P(TransportSet, GpuDeaths,
                         ::testing::Values(Death{"shm", false}, Death{"shm", true},
                                           Death{"tcp", false}, Death{"tcp", true},
                                           Death{"shm", false, "nccl"},
                                           Death{"shm", false, "nonblocking"}));

}  // namespace
}  // namespace tutti::harness
