// Operations that end while their program calls nothing, in communicators that came from the MPI.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <tutti/mpi.hpp>

#include "tests/support/patience.hpp"

namespace tutti::test {

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

Communicator make_threaded_world(const std::string& transport) {
  const CommunicatorOptions options{.timeout = kAmple, .progress_thread = true};
  if (transport == "mpi") return mpi::communicator(MPI_COMM_WORLD, options);
  return mpi::init(MPI_COMM_WORLD, {.transport = transport, .communicator = options});
}

/// A file by which rank 1 reports its end to rank 0, without tutti and without the MPI.
class Sign {
 public:
  explicit Sign(Communicator& world) {
    std::array<char, 32> name{"/tmp/tutti-progress-XXXXXX"};
    if (world.rank() == 0) close(mkstemp(name.data()));
    world.broadcast(name);
    file_ = name.data();
  }
  Sign(const Sign&) = delete;
  Sign& operator=(const Sign&) = delete;
  ~Sign() { give(); }

  void give() const noexcept {
    std::error_code none;
    std::filesystem::remove(file_, none);
  }
  [[nodiscard]] bool await() const {
    for (const auto deadline = Clock::now() + kAmple; Clock::now() < deadline;) {
      if (!std::filesystem::exists(file_)) return true;
      std::this_thread::sleep_for(1ms);
    }
    return false;
  }

 private:
  std::filesystem::path file_;
};

class MpiProgressThread : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    int level = MPI_THREAD_SINGLE;
    MPI_Query_thread(&level);
    if (level < MPI_THREAD_MULTIPLE) GTEST_SKIP() << "the MPI has no MPI_THREAD_MULTIPLE";
  }
};

TEST_P(MpiProgressThread, EndsWhatRankZeroHasStarted) {
  Communicator world = make_threaded_world(GetParam());
  for (const std::size_t count : {1U, 3'000U, 2'000'000U}) {
    const Sign sign{world};
    std::vector<int> data(count, world.rank() + 1);
    Request request = world.async().all_reduce(data);
    if (world.rank() == 0) {
      EXPECT_TRUE(sign.await()) << "of " << count << " elements";
    }
    request.wait();
    if (world.rank() == 1) sign.give();
    EXPECT_EQ(data, std::vector<int>(count, 3));
  }
}

TEST_P(MpiProgressThread, StartsWhatWaitsForOlderCalls) {
  Communicator world = make_threaded_world(GetParam());
  const Sign sign{world};
  std::vector<int> data(300, 1);
  std::vector<Request> requests;
  for (int& element : data) requests.push_back(world.async().all_reduce(std::span{&element, 1}));
  if (world.rank() == 0) {
    EXPECT_TRUE(sign.await());
  }
  wait_all(requests);
  if (world.rank() == 1) sign.give();
  EXPECT_EQ(data, std::vector<int>(300, 2));
}

TEST_P(MpiProgressThread, StandsBesideCallsOfTheProgramsOwn) {
  Communicator world = make_threaded_world(GetParam());
  const int other = 1 - world.rank();
  for (int i = 0; i < 50; ++i) {
    std::vector<int> data(10'000, i);
    Request request = world.async().all_reduce(data);
    int got = -1;
    MPI_Sendrecv(&i, 1, MPI_INT, other, 5, &got, 1, MPI_INT, other, 5, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    EXPECT_EQ(got, i);
    EXPECT_EQ(world.all_reduce(1), 2);
    request.wait();
    EXPECT_EQ(data.back(), 2 * i);
  }
}

INSTANTIATE_TEST_SUITE_P(Over, MpiProgressThread, testing::Values("auto", "tcp", "mpi"),
                         [](const auto& test) { return std::string{test.param}; });

}  // namespace
}  // namespace tutti::test
