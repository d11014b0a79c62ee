// Operators that programs make anew in each call cost what a kept one costs, and are not kept.
#include <array>
#include <memory>
#include <span>
#include <vector>

#include <tutti/batch.hpp>

#include "tests/collectives/execution/uncounted.hpp"
#include "tests/collectives/on_streams.hpp"
#include "tests/collectives/rows.hpp"
#include "tests/support/replaced_new.hpp"

namespace tutti::harness {
namespace {

constexpr std::size_t kFew = 3;
/// An operator holds one as long as it lives.
using Token = std::shared_ptr<int>;

World make_world() {
  WorldOptions options{};
  options.cluster.size = static_cast<int>(kFew);
  options.wrap = [](std::unique_ptr<Transport> inner) {
    return std::make_unique<Uncounted>(std::move(inner));
  };
  return World{options};
}

/// A sum that counts its calls.
Operator counting_sum(const Token& calls) {
  return {[calls](const void* left, const void* right, void* out, std::size_t count) {
            ++*calls;
            for (std::size_t i = 0; i < count; ++i)
              static_cast<long*>(out)[i] =
                  static_cast<const long*>(left)[i] + static_cast<const long*>(right)[i];
          },
          true};
}

/// Starts an all_reduce of ones on all ranks by one operator, and ends it.
struct Round {
  std::array<std::array<long, 5>, kFew> data{};
  std::vector<Task> tasks{};

  void start(World& world, const Operator& op) {
    for (std::size_t r = 0; r < kFew; ++r) {
      data[r].fill(1);
      const auto rank = static_cast<Rank>(r);
      tasks.push_back(task_of(rank, world[rank].async().all_reduce(std::span{data[r]}, op)));
    }
  }
  void expect_sums() const {
    for (const auto& sums : data)
      for (const long value : sums) EXPECT_EQ(value, static_cast<long>(kFew));
  }
};

/// Tests requests until they are done, without counting what the cluster allocates.
void drive(World& world, std::span<Request> requests) {
  for (bool is_over = false; !is_over;) {
    is_over = true;
    for (Request& request : requests) is_over = request.test() && is_over;
    const Count off{false};
    if (!is_over) static_cast<void>(world.cluster().advance());
  }
}

/// @return the growth of memory in bytes. @param makes_anew whether each call has its own operator.
std::ptrdiff_t growth_of_calls(bool makes_anew) {
  World world = make_world();
  const Token kept_calls = std::make_shared<int>(0);
  const Operator kept = counting_sum(kept_calls);
  std::size_t before = 0;
  for (int call = 0; call < 300; ++call) {
    const Token calls = makes_anew ? std::make_shared<int>(0) : kept_calls;
    std::array<Request, kFew> requests{};
    std::array<std::array<long, 5>, kFew> data{};
    for (auto& own : data) own.fill(1);
    {
      const Operator op = makes_anew ? counting_sum(calls) : kept;
      allocations = 0;
      const Count on{true};
      for (std::size_t r = 0; r < kFew; ++r)
        requests[r] = world[static_cast<Rank>(r)].async().all_reduce(std::span{data[r]}, op);
      drive(world, requests);
    }
    EXPECT_EQ(allocations > 0, call == 0) << allocations << " allocations, call " << call;
    EXPECT_GT(*calls, 0);
    if (makes_anew) {
      EXPECT_EQ(calls.use_count(), 1) << "an operator is kept after call " << call;
    }
    for (const auto& sums : data) EXPECT_EQ(sums.front(), static_cast<long>(kFew));
    if (call == 20) before = held_bytes;
  }
  return static_cast<std::ptrdiff_t>(held_bytes - before);
}

TEST(FreshOperators, AreFoundByTheirProperties) {
  EXPECT_LE(growth_of_calls(true), growth_of_calls(false) + 1024);
}

TEST(FreshOperators, AreHeldWhileACallIsUnderWay) {
  World world = make_world();
  const Token calls = std::make_shared<int>(0);
  Round round;
  round.start(world, counting_sum(calls));
  EXPECT_GT(calls.use_count(), 1);
  ASSERT_TRUE(world.drive(round.tasks));
  round.expect_sums();
  EXPECT_EQ(calls.use_count(), 1) << "the requests have ended, and their handles live";
}

TEST(FreshOperators, OfOneShapeAreUnderWayTogether) {
  World world = make_world();
  const std::array<Token, 4> calls{std::make_shared<int>(0), std::make_shared<int>(0),
                                   std::make_shared<int>(0), std::make_shared<int>(0)};
  std::array<Round, 4> rounds{};
  std::vector<Task> tasks;
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    rounds[i].start(world, counting_sum(calls[i]));
    std::ranges::move(rounds[i].tasks, std::back_inserter(tasks));
  }
  ASSERT_TRUE(world.drive(tasks));
  for (const Round& round : rounds) round.expect_sums();
  for (const Token& own : calls) {
    EXPECT_GT(*own, 0) << "each call applies its own operator";
    EXPECT_EQ(own.use_count(), 1);
  }
}

TEST(FreshOperators, AreHeldByPlans) {
  World world = make_world();
  const Token calls = std::make_shared<int>(0);
  std::array<std::array<long, 5>, kFew> data{};
  {
    std::vector<Plan> plans;
    for (std::size_t r = 0; r < kFew; ++r)
      plans.push_back(
          world[static_cast<Rank>(r)].plan().all_reduce(std::span{data[r]}, counting_sum(calls)));
    for (int run = 0; run < 3; ++run) {
      const int before = *calls;
      for (auto& own : data) own.fill(1);
      for (Plan& plan : plans) plan.start();
      for (bool is_over = false; !is_over; static_cast<void>(world.cluster().advance())) {
        is_over = true;
        for (Plan& plan : plans) is_over = plan.test() && is_over;
      }
      EXPECT_GT(*calls, before);
      EXPECT_EQ(data.front().front(), static_cast<long>(kFew));
    }
    EXPECT_GT(calls.use_count(), 1);
  }
  EXPECT_EQ(calls.use_count(), 1);
}

TEST(FreshOperators, ThatAreRefusedAreNotKept) {
  World world{1};
  const Token calls = std::make_shared<int>(0);
  std::array<long, 5> data{};
  world[0].all_reduce(std::span{data}, counting_sum(calls));
  const std::span<const long> overlapping{data.data(), 4};
  EXPECT_THROW(world[0].all_reduce(overlapping, std::span{data}.last(4), counting_sum(calls)),
               Error);
  EXPECT_EQ(calls.use_count(), 1);
  const Operator empty{UserFunction{}, true};
  EXPECT_THROW(world[0].all_reduce(std::span{data}, empty), Error)
      << "calls of the shape before have a function";
}

TEST(FreshOperators, OfGpusAreNotKept) {
  StreamHub hub{2};
  on_streams(hub, [](Communicator& world) {
    for (int call = 0; call < 5; ++call) {
      const Token calls = std::make_shared<int>(0);
      std::array<long, 5> data{};
      data.fill(1);
      const Operator host = counting_sum(calls);
      world.all_reduce(std::span{data},
                       host.with_device([&host](const void* left, const void* right, void* out,
                                                std::size_t count, void*) {
                         (*host.function())(left, right, out, count);
                       }),
                       {.stream = kStream});
      EXPECT_EQ(data.front(), 2);
      EXPECT_EQ(calls.use_count(), 2) << "the program's own, and its operator's";
    }
  });
}

}  // namespace
}  // namespace tutti::harness
