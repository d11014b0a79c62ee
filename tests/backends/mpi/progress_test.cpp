// While a rank waits in tutti, the MPI that its world came from goes on, where it needs a processor
// for that: as in the MPI's own calls. tests/backends/mpi/CMakeLists.txt sees to it that the MPIs
// do need one.
#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

#include <tutti/batch.hpp>
#include <tutti/mpi.hpp>
#include <tutti/objects.hpp>

#include "tests/support/one_processor.hpp"
#include "tests/support/patience.hpp"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr int kTag = 5;

CommunicatorOptions own_options() {
  return {.timeout = kAmple};
}

Communicator make_world(const std::string& transport) {
  if (transport == "mpi") return mpi::communicator(MPI_COMM_WORLD, own_options());
  return mpi::init(MPI_COMM_WORLD, {.transport = transport, .communicator = own_options()});
}

/// Rank 0 gives rank 1 more by MPI than fits on the way, and waits in tutti until rank 1 has it.
template <class Wait>
void send_and(Communicator& world, Wait wait) {
  constexpr int kBytes = 2'000'000;
  std::vector<char> data(world.rank() < 2 ? kBytes : 0, static_cast<char>(world.rank()));
  MPI_Request request = MPI_REQUEST_NULL;
  if (world.rank() == 0)
    MPI_Isend(data.data(), kBytes, MPI_CHAR, 1, kTag, MPI_COMM_WORLD, &request);
  if (world.rank() == 1) {
    MPI_Recv(data.data(), kBytes, MPI_CHAR, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    EXPECT_EQ(data.back(), 0);
  }
  EXPECT_NO_THROW(wait());
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

class MpiProgress : public testing::TestWithParam<const char*> {};

TEST_P(MpiProgress, IsMadeInABarrier) {
  Communicator world = make_world(GetParam());
  send_and(world, [&] { world.barrier(); });
}

TEST_P(MpiProgress, IsMadeWhereRanksShareACore) {
  const test::OneProcessor processor;
  Communicator world = make_world(GetParam());
  send_and(world, [&] { world.barrier(); });
}

TEST_P(MpiProgress, IsMadeInEveryWait) {
  Communicator world = make_world(GetParam());
  Communicator part = world.split(0);
  std::vector<int> values(3, 1);
  send_and(world, [&] { part.barrier(); });
  send_and(world, [&] { batch([&] { world.all_reduce(std::span{values}); }); });
  send_and(world, [&] {
    Request request = world.async().all_reduce(std::span{values});
    const auto deadline = Clock::now() + kAmple;
    while (!request.test() && Clock::now() < deadline) {
    }
    request.wait();
  });
  send_and(world, [&] { EXPECT_EQ(objects(world).broadcast(world.rank() * 7, 1), 7); });
}

// Each call is short; it is their number that takes long.
TEST_P(MpiProgress, IsMadeByManyShortCalls) {
  Communicator world = make_world(GetParam());
  if (world.size() < 3) return;
  Communicator others = world.rank() == 1 ? world.group({1}) : world.group({0, 2});
  send_and(world, [&] {
    const auto deadline = Clock::now() + kAmple;
    if (world.rank() == 1) MPI_Send(nullptr, 0, MPI_CHAR, 2, kTag, MPI_COMM_WORLD);
    for (std::vector<int> is_over(2, 0); is_over[0] == 0 && world.rank() != 1;) {
      if (world.rank() == 2) MPI_Iprobe(1, kTag, MPI_COMM_WORLD, is_over.data(), MPI_STATUS_IGNORE);
      is_over[1] = Clock::now() > deadline ? 1 : 0;
      others.all_reduce(std::span{is_over}, tutti::max);
      ASSERT_EQ(is_over[1], 0) << "no progress was made";
    }
    if (world.rank() == 2)
      MPI_Recv(nullptr, 0, MPI_CHAR, 1, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  });
}

TEST_P(MpiProgress, IsMadeForOneSidedAccess) {
  Communicator world = make_world(GetParam());
  std::vector<int> values(1000, 1);  // MPICH 4.0 loses what goes to a stack
  MPI_Win window = MPI_WIN_NULL;
  MPI_Win_create(values.data(), sizeof(int) * values.size(), sizeof(int), MPI_INFO_NULL,
                 MPI_COMM_WORLD, &window);
  if (world.rank() == 1) {
    const int value = 41;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
    MPI_Accumulate(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, window);
    MPI_Win_unlock(0, window);
  }
  EXPECT_NO_THROW(world.barrier());
  MPI_Win_lock(MPI_LOCK_SHARED, world.rank(), 0, window);
  EXPECT_EQ(values[0], world.rank() == 0 ? 42 : 1);
  MPI_Win_unlock(world.rank(), window);
  MPI_Win_free(&window);
}

/// @return how often rank 1 accesses rank 0's window in a while in which the others wait.
template <class Wait>
int accesses_while(int rank, MPI_Win window, Wait wait) {
  constexpr auto kWhile = 50ms;
  int accesses = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  for (const auto end = Clock::now() + kWhile; rank == 1 && Clock::now() < end; ++accesses) {
    const int value = 1;
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
    MPI_Accumulate(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, window);
    MPI_Win_unlock(0, window);
  }
  wait();
  return accesses;
}

/// Makes progress as often as the MPI can, and offers its core each time, as a rank that shares it.
void wait_in_the_mpi() {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  for (int done = 0; done == 0;) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done == 0) sched_yield();
  }
}

/// Other programs disturb some of the rounds: all of seven, where there are very many.
void expect_as_many_accesses(Communicator& world) {
  constexpr int kRounds = 7;
  constexpr int kMostRounds = 70;
  constexpr int kTimes = 8;
  std::vector<int> values(1000, 0);
  MPI_Win window = MPI_WIN_NULL;
  MPI_Win_create(values.data(), sizeof(int) * values.size(), sizeof(int), MPI_INFO_NULL,
                 MPI_COMM_WORLD, &window);
  int own = 0, ours = 0;
  for (int round = 0, is_enough = 0; round < kMostRounds && is_enough == 0; ++round) {
    own = std::max(own, accesses_while(world.rank(), window, wait_in_the_mpi));
    ours = std::max(ours, accesses_while(world.rank(), window, [&] { world.barrier(); }));
    is_enough = round + 1 >= kRounds && own / kTimes <= ours ? 1 : 0;
    MPI_Bcast(&is_enough, 1, MPI_INT, 1, MPI_COMM_WORLD);  // rank 1 counts
  }
  EXPECT_LE(own / kTimes, ours) << own << " accesses in the MPI, and " << ours << " in tutti";
  MPI_Win_free(&window);
}

TEST_P(MpiProgress, IsMadeAsOftenAsInTheMpi) {
  Communicator world = make_world(GetParam());
  expect_as_many_accesses(world);
}

// A thread of tutti's own calls the MPI, too, for which this program has not asked it.
TEST(MpiThreadLevel, BelowMultipleHasNoProgressThread) {
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  if (level == MPI_THREAD_MULTIPLE) GTEST_SKIP() << "the MPI gives more than it was asked for";
  const CommunicatorOptions options{.timeout = kAmple, .progress_thread = true};
  const auto expect_refusal = [](auto make) {
    try {
      make();
      ADD_FAILURE() << "it was not refused";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      EXPECT_NE(std::string{error.what()}.find("MPI_THREAD_MULTIPLE"), std::string::npos)
          << error.what();
    }
  };
  expect_refusal([&] { static_cast<void>(mpi::communicator(MPI_COMM_WORLD, options)); });
  for (const char* transport : {"auto", "tcp", "shm+mpi"})
    expect_refusal([&] {
      static_cast<void>(
          mpi::init(MPI_COMM_WORLD, {.transport = transport, .communicator = options}));
    });
  Communicator plain = mpi::communicator(MPI_COMM_WORLD, {.timeout = kAmple});
  expect_refusal([&] { static_cast<void>(plain.duplicate(options)); });
  EXPECT_EQ(plain.all_reduce(1), plain.size());
  Communicator world = make_world("auto");
  EXPECT_EQ(world.all_reduce(1), world.size()) << "ranks go on after a refusal";
}

INSTANTIATE_TEST_SUITE_P(Over, MpiProgress, testing::Values("auto", "tcp", "mpi"),
                         [](const auto& test) { return std::string{test.param}; });

}  // namespace
}  // namespace tutti::test
