// Collectives over MPI: every row of the catalog against plain loops, in several sizes.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <tutti/mpi.hpp>

#include "proof/verify_row.hpp"
#include "tests/support/experiment.hpp"
#include "tests/support/patience.hpp"

namespace tutti::test {
namespace {

using harness::Experiment;

Communicator make_world() {
  return mpi::communicator(MPI_COMM_WORLD, {.timeout = kAmple},
                           {.chunk_bytes = 50000, .timeout = kAmple});
}

// Runs one call of a row and compares every element, and the bytes around the buffers.
void expect_right(Communicator& world, const Algorithm& row, harness::Case one) {
  one.collective = row.collective;
  one.algorithm = verified_choices(row, world.size(), 1).front().text();
  Experiment experiment{std::move(one)};
  world.run(experiment.call(world.rank()), experiment.options());
  ASSERT_EQ(experiment.problem(world.rank()).value_or(""), "") << experiment.what().describe();
}

TEST(MpiCommunicator, RunsEveryRowOfTheCatalog) {
  Communicator world = make_world();
  const auto n = static_cast<std::size_t>(world.size());
  const auto small = harness::model_of(Datatype::i32, OperatorKind::sum);
  const auto large = harness::model_of(Datatype::f64, OperatorKind::sum);
  const auto maxima = harness::model_of(Datatype::u64, OperatorKind::max);
  int rows = 0;
  for (const Algorithm& row : catalog()) {
    if (!admits(row.traits.sizes, world.size())) continue;
    ++rows;
    const auto run = [&](std::size_t count, Rank root, const harness::Model& model) {
      const std::vector<std::size_t> counts(harness::blocks_of(row.collective, world.size()),
                                            count);
      expect_right(world, row,
                   {.size = world.size(), .counts = counts, .root = root, .model = model});
    };
    for (const std::size_t count :
         {std::size_t{0}, std::size_t{1}, n - 1, n + 1, std::size_t{1000}})
      ASSERT_NO_FATAL_FAILURE(run(count, static_cast<Rank>(count % n), small));
    ASSERT_NO_FATAL_FAILURE(run(9001, world.size() - 1, large));
    ASSERT_NO_FATAL_FAILURE(run(33, 0, maxima));
  }
  EXPECT_GT(rows, kCollectives);
}

TEST(MpiCommunicator, KnowsTheHostsOfItsRanks) {
  Communicator world = make_world();
  std::vector<std::int64_t> data(10, 1);
  Plan plan = world.plan().all_reduce(data, sum, {.algorithm = "hierarchical(circulant, ring)"});
  EXPECT_EQ(plan.algorithm(), "hierarchical(circulant, ring):groups=1") << "this is one machine";
}

TEST(MpiCommunicator, KeepsSeveralOperationsInFlight) {
  Communicator world = make_world();
  const auto n = static_cast<std::size_t>(world.size());
  Experiment small{{.collective = Collective::all_reduce,
                    .size = world.size(),
                    .counts = {10},
                    .in_place = true,
                    .model = harness::model_of(Datatype::i64, OperatorKind::sum)}};
  Experiment large{{.collective = Collective::all_gather,
                    .size = world.size(),
                    .counts = std::vector<std::size_t>(n, 7000),
                    .model = harness::model_of(Datatype::f32, OperatorKind::sum)}};
  Request one = world.async().run(small.call(world.rank()), small.options());
  Request two = world.async().run(large.call(world.rank()), large.options());
  two.wait();
  one.wait();
  EXPECT_EQ(small.problem(world.rank()).value_or(""), "");
  EXPECT_EQ(large.problem(world.rank()).value_or(""), "");
}

// As MPICH's test p_order: made in one order, started and waited for in an order of each rank's
// own.
TEST(MpiCommunicator, StartsPlansInAnyOrder) {
  constexpr std::size_t kPlans = 9;
  Communicator world = make_world();
  std::vector<std::vector<std::int64_t>> data;
  std::vector<Plan> plans;
  for (std::size_t i = 0; i < kPlans; ++i) data.emplace_back(i % 2 == 0 ? 8 : 20'000);
  for (std::vector<std::int64_t>& each : data) plans.push_back(world.plan().all_reduce(each));
  const auto self = static_cast<std::size_t>(world.rank());
  for (std::size_t round = 0; round < 4; ++round) {
    for (std::size_t i = 0; i < kPlans; ++i)
      std::ranges::fill(data[i], static_cast<std::int64_t>(i + round));
    for (std::size_t i = 0; i < kPlans; ++i) plans[(i * (self % 2 + 1) + self) % kPlans].start();
    world.barrier();
    for (std::size_t i = 0; i < kPlans; ++i) plans[(kPlans - 1 - i + self) % kPlans].wait();
    for (std::size_t i = 0; i < kPlans; ++i)
      EXPECT_EQ(data[i], std::vector<std::int64_t>(
                             data[i].size(), static_cast<std::int64_t>(i + round) * world.size()));
  }
}

// Around the length of one MPI message, and in several.
TEST(MpiCommunicator, SendsMessagesOfAnyLength) {
  Communicator world = make_world();
  const Rank right = (world.rank() + 1) % world.size();
  const Rank left = (world.rank() + world.size() - 1) % world.size();
  for (const std::size_t bytes : {0U, 1U, 49'999U, 50'000U, 50'001U, 99'999U, 100'001U, 500'003U}) {
    const auto letter = [bytes](Rank rank, std::size_t index) {
      return static_cast<std::uint8_t>((index + bytes) * 0x9e3779b97f4a7c15U >> 56 ^
                                       static_cast<std::size_t>(rank));
    };
    std::vector<std::uint8_t> out(bytes), expected(bytes), in(bytes), again(bytes);
    for (std::size_t i = 0; i < bytes; ++i) {
      out[i] = letter(world.rank(), i);
      expected[i] = letter(left, i);
    }
    world.sendrecv(out, right, in, left, 7);
    Request sent = world.async().send(out, right);
    world.recv(again, left);
    sent.wait();
    EXPECT_EQ(in, expected) << bytes;
    EXPECT_EQ(again, expected) << bytes;
  }
}

TEST(MpiCommunicator, HoldsEveryRankInABarrierUntilTheLastHasEntered) {
  using Clock = std::chrono::steady_clock;  // one clock for all processes of a machine
  Communicator world = make_world();
  world.barrier();
  std::this_thread::sleep_for(std::chrono::milliseconds{world.rank() == world.size() - 1 ? 30 : 0});
  const std::int64_t entered = Clock::now().time_since_epoch().count();
  world.barrier();
  const std::int64_t left = Clock::now().time_since_epoch().count();
  std::vector<std::int64_t> last{entered};
  world.all_reduce(std::span{last}, max);
  EXPECT_GE(left, last[0]);
}

TEST(MpiCommunicator, StaysUsableAfterAWrongArgument) {
  Communicator world = make_world();
  std::vector<float> data(4, 1.0F);
  const auto code = [&world, &data](std::string_view algorithm, Rank root) {
    const Result<void> result =
        world.try_().broadcast(std::span{data}, root, {.algorithm = algorithm});
    return result ? ErrorCode::bug : result.error().code();
  };
  EXPECT_EQ(code("no_such_algorithm", 0), ErrorCode::invalid_argument);
  EXPECT_EQ(code("", world.size()), ErrorCode::invalid_argument);
  EXPECT_EQ(code("", -1), ErrorCode::invalid_argument);
  EXPECT_FALSE(world.try_().all_reduce(std::span{data}, bit_or));
  world.all_reduce(std::span{data});
  EXPECT_EQ(data[3], static_cast<float>(world.size()));
}

// Every rank contributes its rank in the world.
void expect_sum_of(Communicator& communicator, const std::vector<Rank>& ranks, Rank own) {
  std::vector<std::int64_t> values(20'000, own);
  communicator.all_reduce(std::span{values});
  std::int64_t sum = 0;
  for (const Rank rank : ranks) sum += rank;
  ASSERT_EQ(communicator.size(), static_cast<int>(ranks.size()));
  EXPECT_EQ(values.front(), sum);
  EXPECT_EQ(values.back(), sum);
}

void expect_halves(Communicator& world) {
  const Rank own = world.rank();
  std::vector<Rank> ranks;
  for (Rank rank = world.size() - 1; rank >= 0; --rank)
    if (rank % 2 == own % 2) ranks.push_back(rank);
  Communicator half = world.split(own % 2, -own);
  EXPECT_EQ(ranks[static_cast<std::size_t>(half.rank())], own);
  expect_sum_of(half, ranks, own);
  if (own != 0) return world.split(no_color);
  Communicator alone = world.split(0);
  expect_sum_of(alone, {0}, own);
}

// All ranks must take the same costs, whichever cores each of them may use.
TEST(MpiCommunicator, ChoosesByWhatMessagesCostWithinItsHost) {
  Communicator world = make_world();
  std::vector<float> values(1 << 18);
  const std::string why = world.explain(call::reduce(values, std::span{values}, sum, 0));
  const bool is_roomy = why.find("assumed of MPI within a host") != std::string::npos;
  EXPECT_NE(is_roomy, why.find("assumed of any host") != std::string::npos) << why;
  std::vector<int> said{is_roomy ? 1 : 0, is_roomy ? 0 : 1};
  world.all_reduce(said, max);
  EXPECT_EQ(said[0] + said[1], 1) << "ranks take different costs";
  if (world.size() == 2 && is_roomy) {
    EXPECT_NE(why.find(": binomial (least"), std::string::npos) << why;
  }
}

TEST(MpiCommunicator, DividesByColorAndKey) {
  Communicator world = make_world();
  expect_halves(world);
  EXPECT_FALSE(world.allocate<int>(10).is_visible());
  EXPECT_NE(world.describe().find("over MPI"), std::string::npos);
}

// Keys that are one tag to the MPI pair ranks that do not belong together.
TEST(MpiCommunicator, MakesGroupsOfEqualKeysOnly) {
  Communicator world = make_world();
  std::vector<Rank> ranks(static_cast<std::size_t>(world.size()));
  std::iota(ranks.begin(), ranks.end(), 0);
  for (const std::uint64_t key : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{32767},
                                  std::uint64_t{1} << 40 | 7, kKeyOfSplits}) {
    Communicator group = world.group(ranks, key);
    expect_sum_of(group, ranks, world.rank());
  }
  const std::uint64_t another = world.rank() == world.size() - 1 ? 32768 : 0;
  const auto group = world.try_group(ranks, 5 + another);
  EXPECT_EQ(static_cast<bool>(group), world.size() == 1);
  if (!group) {
    EXPECT_EQ(group.error().code(), ErrorCode::mismatch) << group.error().what();
    EXPECT_NE(std::string{group.error().what()}.find("keys"), std::string::npos);
  }
  expect_sum_of(world, ranks, world.rank());
}

TEST(MpiCommunicator, RefusesTimesThatAreNegative) {
  const mpi::Options negative{.timeout = std::chrono::milliseconds{-1}};
  const std::vector<Result<void>> outcomes{
      detail::attempt([&] { (void)mpi::communicator(MPI_COMM_WORLD, {}, negative); }),
      detail::attempt([&] { (void)mpi::make_transport(MPI_COMM_WORLD, negative); }),
      detail::attempt([&] { (void)mpi::init(MPI_COMM_WORLD, {.timeout = negative.timeout}); })};
  for (const Result<void>& outcome : outcomes) {
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code(), ErrorCode::invalid_argument) << outcome.error().what();
  }
  Communicator world =
      mpi::communicator(MPI_COMM_WORLD, {.timeout = Duration::max()}, {.timeout = Duration::max()});
  world.barrier();
}

TEST(MpiCommunicator, ReadsVariables) {
  const auto refusals = [] {
    return std::vector<Result<void>>{
        detail::attempt([] { (void)mpi::communicator(MPI_COMM_WORLD); }),
        detail::attempt([] { (void)mpi::init(MPI_COMM_WORLD); }),
        detail::attempt([] { (void)mpi::init(MPI_COMM_WORLD, {.transport = "shm+mpi"}); })};
  };
  for (const auto& [name, value] :
       {std::pair{"TUTTI_SECRET_FILE", "/no/such/secret"}, std::pair{"TUTTI_ADDRESS", "nonsense0"},
        std::pair{"TUTTI_TIMEOUT", "soon"}}) {
    ::setenv(name, value, 1);
    for (const Result<void>& outcome : refusals()) {
      EXPECT_FALSE(outcome) << name;
      if (outcome) continue;
      EXPECT_EQ(outcome.error().code(), ErrorCode::invalid_argument) << outcome.error().what();
      EXPECT_NE(std::string{outcome.error().what()}.find(value), std::string::npos)
          << outcome.error().what();
    }
    ::unsetenv(name);
  }
  for (const Result<void>& outcome : refusals()) EXPECT_TRUE(outcome);
}

TEST(MpiCommunicator, IsNeededOnlyForRanksToFindEachOther) {
  for (const char* const transport : {"auto", "tcp"}) {
    Communicator world = mpi::init(MPI_COMM_WORLD, {.transport = transport, .timeout = kAmple});
    expect_halves(world);
    EXPECT_EQ(world.describe().find("over MPI"), std::string::npos);
  }
}

}  // namespace
}  // namespace tutti::test
