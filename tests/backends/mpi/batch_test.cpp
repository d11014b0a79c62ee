// Calls that start together, over MPI: blocking messages in a ring, collectives of two
// communicators among them, and what goes wrong.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <numeric>
#include <vector>

#include <tutti/batch.hpp>
#include <tutti/mpi.hpp>

#include "tests/support/patience.hpp"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;
using Vector = std::vector<int>;

constexpr std::size_t kLarge = 50'000;  // elements, whose bytes travel in four chunks

Communicator make_chunked_world() {
  return mpi::communicator(MPI_COMM_WORLD, {.timeout = kAmple},
                           {.chunk_bytes = 50'000, .timeout = kAmple});
}

Rank right_of(const Communicator& world) {
  return (world.rank() + 1) % world.size();
}
Rank left_of(const Communicator& world) {
  return (world.rank() + world.size() - 1) % world.size();
}

/// Elements that differ for each rank and serial.
Vector values(Rank rank, int serial, std::size_t count) {
  Vector all(count);
  std::iota(all.begin(), all.end(), rank * 1'000'000 + serial * 100'000);
  return all;
}

TEST(MpiBatch, LetsBlockingMessagesGoRound) {
  Communicator world = make_chunked_world();
  for (const std::size_t count : {std::size_t{0}, std::size_t{3}, kLarge}) {
    const Vector first = values(world.rank(), 1, count);
    const Vector second = values(world.rank(), 2, count);
    std::array<Vector, 2> got{Vector(count), Vector(count)};
    batch([&] {  // sends first, of more than an MPI keeps for who does not receive yet
      world.send(first, right_of(world), 1);
      world.send(second, right_of(world), 1);
      world.recv(got[0], left_of(world), 1);
      world.recv(got[1], left_of(world), 1);
    });
    EXPECT_EQ(got[0], values(left_of(world), 1, count));
    EXPECT_EQ(got[1], values(left_of(world), 2, count));
  }
}

/// The buffers of a batch of all kinds of calls.
struct Mixture {
  Mixture(const Communicator& world, int number, std::size_t elements)
      : serial{number}, count{elements}, own{values(world.rank(), number, elements)},
        sums(elements, world.rank() + number), halves(elements, world.rank()), got(elements),
        all(elements * static_cast<std::size_t>(world.size())),
        news(elements, world.rank() == world.size() - 1 ? number : -1) {}

  int serial;
  std::size_t count;
  Vector own, sums, halves, got, all, news;
};

void expect_right(const Mixture& data, const Communicator& world, const Communicator& half) {
  const int size = world.size();
  EXPECT_EQ(data.sums, Vector(data.count, size * (size - 1) / 2 + size * data.serial));
  const int in_half = half.size() * (half.size() - 1) + half.size() * (world.rank() % 2);
  EXPECT_EQ(data.halves, Vector(data.count, in_half));
  EXPECT_EQ(data.got, values(left_of(world), data.serial, data.count));
  EXPECT_EQ(data.news, Vector(data.count, data.serial));
  Vector expected;
  for (Rank rank = 0; rank < size; ++rank) {
    const Vector block = values(rank, data.serial, data.count);
    expected.insert(expected.end(), block.begin(), block.end());
  }
  EXPECT_EQ(data.all, expected);
}

TEST(MpiBatch, MixesMessagesAndCollectivesOfSeveralCommunicators) {
  Communicator world = make_chunked_world();
  Communicator half = world.split(world.rank() % 2);
  for (int serial = 1; serial <= 6; ++serial) {
    Mixture data{world, serial, serial % 2 == 0 ? kLarge : std::size_t{5}};
    Plan plan = world.plan().all_gather(data.own, data.all);
    Request request;
    batch([&] {
      // Messages and collectives in another order on every second rank: neither counts the other.
      if (world.rank() % 2 == 0) world.send(data.own, right_of(world));
      world.all_reduce(data.sums);
      half.all_reduce(data.halves);
      world.recv(data.got, left_of(world));
      request = world.async().broadcast(data.news, world.size() - 1);
      if (world.rank() % 2 == 1) world.send(data.own, right_of(world));
      plan.start();
      world.barrier();
    });
    plan.wait();
    request.wait();
    ASSERT_NO_FATAL_FAILURE(expect_right(data, world, half));
  }
}

TEST(MpiBatch, StartsNothingAfterAWrongArgument) {
  Communicator world = make_chunked_world();
  Vector x{1};
  const Result<void> refused = try_batch([&] {
    world.all_reduce(x);
    world.send(x, right_of(world));
    world.send(x, world.size());  // there is none
  });
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::invalid_argument);
  batch([&] { world.all_reduce(x); });
  EXPECT_EQ(x, Vector{world.size()});
}

TEST(MpiBatch, TellsAllRanksOfACallThatDiffers) {
  Communicator world = make_chunked_world();
  if (world.size() == 1) return;
  Communicator half = world.split(world.rank() % 2);
  const std::size_t count = world.rank() == world.size() - 1 ? 4 : 5;
  Vector x(count), y(kLarge, 1), z(3, 1);
  const auto start = std::chrono::steady_clock::now();
  Result<void> result = try_batch([&] {
    half.all_reduce(z);
    world.all_reduce(y);
    world.all_reduce(x);
  });
  EXPECT_LT(std::chrono::steady_clock::now() - start, kLongBefore);
  EXPECT_EQ(z, Vector(3, half.size())) << "the other communicator knows nothing of it";
  // A rank with nothing to receive may be done before the failure; a later call fails.
  for (int calls = 0; result && calls < 100; ++calls)
    result = world.try_().barrier({.timeout = kAmple});
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().code(), ErrorCode::invalid_argument) << result.error().what();
  EXPECT_EQ(result.error().cause(), ErrorCode::mismatch) << result.error().what();
  half.barrier();
}

}  // namespace
}  // namespace tutti::test
