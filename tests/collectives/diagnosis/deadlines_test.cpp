// A request that waits too long is noticed, whatever else the program does meanwhile.
#include <memory>
#include <string>
#include <utility>

#include <tutti/batch.hpp>
#include <tutti/objects.hpp>
#include <tutti/spi/communicator.hpp>
#include <tutti/spi/memory.hpp>

#include "tests/collectives/rows.hpp"
#include "tests/support/wrapper.hpp"

namespace tutti::harness {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// A transport so quick to poll that the clock is read now and then only.
class Quick final : public Wrapper {
 public:
  explicit Quick(std::unique_ptr<Transport> inner)
      : Wrapper{std::move(inner)}, capabilities_{Wrapper::capabilities()} {
    capabilities_.idle_spins = 10'000;
  }
  [[nodiscard]] const Capabilities& capabilities() const noexcept override { return capabilities_; }

 private:
  Capabilities capabilities_;
};

World make_quick_world(int size, sim::Delivery delivery = sim::Delivery::rendezvous) {
  return World{{.cluster = {.size = size, .delivery = delivery},
                .wrap = [](std::unique_ptr<Transport> inner) {
                  return std::make_unique<Quick>(std::move(inner));
                }}};
}

constexpr int kPolls = 200;  // more than between two looks at the clock

/// Lets the clock be read, lets time pass, and lets it be read again.
template <class Poll>
void poll_over(World& world, Duration time, int polls, Poll poll) {
  for (int i = 0; i < polls; ++i) poll();
  world.cluster().advance_by(time);
  for (int i = 0; i < polls; ++i) poll();
}

TEST(Deadlines, OfRequestsTestedInTurnAllCount) {
  for (const std::size_t late : {0u, 1u, 2u, 3u}) {
    World world = make_quick_world(2);
    std::vector<std::vector<int>> data(4, std::vector<int>(3));
    std::vector<Request> requests{};
    for (std::size_t i = 0; i < data.size(); ++i)
      requests.push_back(world[0].async().all_reduce(
          std::span{data[i]}, sum,
          {.timeout = i == late ? Duration{milliseconds{20}} : seconds{9}}));
    try {
      poll_over(world, milliseconds{30}, kPolls, [&] {
        for (Request& request : requests) static_cast<void>(request.test());
      });
      FAIL() << "the deadline of request " << late << " of 4 was not noticed";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::timeout) << error.what();
    }
  }
}

TEST(Deadlines, OfARequestCountWhereAnotherIsPolled) {
  World world = make_quick_world(2);
  std::vector<int> a(3), b(3);
  const Request late =
      world[0].async().all_reduce(std::span{a}, sum, {.timeout = milliseconds{20}});
  Request other = world[0].async().all_reduce(std::span{b}, sum, {.timeout = seconds{9}});
  EXPECT_THROW(poll_over(world, milliseconds{30}, kPolls, [&] { static_cast<void>(other.test()); }),
               Error);
}

TEST(Deadlines, OfARequestCountBetweenOtherCalls) {
  World world = make_quick_world(2, sim::Delivery::eager);
  std::vector<int> awaited(3), own(3);
  Request late = world[0].async().broadcast(std::span{awaited}, 1, {.timeout = milliseconds{20}});
  constexpr int kCalls = 31;  // so that all are within the window of the pending one
  try {
    poll_over(world, milliseconds{30}, kCalls, [&] {
      EXPECT_FALSE(late.test());
      EXPECT_FALSE(late.test());
      Request other = world[0].async().broadcast(std::span{own}, 0, {.timeout = seconds{9}});
      while (!other.test()) ASSERT_TRUE(world.cluster().advance());
    });
    FAIL() << "the deadline was not noticed";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::timeout) << error.what();
  }
}

TEST(Deadlines, MayBeTheEndOfTime) {
  World world{{.cluster = {.size = 3}, .communicator = {.timeout = Duration::max()}}};
  world.cluster().advance_by(seconds{5});
  Experiment experiment{{.collective = Collective::all_reduce,
                         .size = 3,
                         .counts = {100},
                         .model = model_of(Datatype::i32, OperatorKind::sum)}};
  EXPECT_EQ(run(world, experiment), "");
}

TEST(Deadlines, OfASendAccuseTheReceiverOfNotTakingIt) {
  World world{{.cluster = {.size = 2, .delivery = sim::Delivery::rendezvous}}};
  std::vector<int> data(3);
  std::vector<Task> tasks{};
  tasks.push_back(
      task_of(0, world[0].async().broadcast(std::span{data}, 0, {.timeout = milliseconds{20}})));
  ASSERT_TRUE(world.drive(tasks, milliseconds{40}));
  ASSERT_TRUE(tasks[0].error);
  const std::string text = tasks[0].error->what();
  EXPECT_EQ(tasks[0].error->culprit(), 1) << text;
  EXPECT_NE(text.find("rank 1 did not receive what was sent"), std::string::npos) << text;
  EXPECT_EQ(text.find("nothing came"), std::string::npos) << text;
}

// Time that is left of something may have run out: that is not taken for the default.
TEST(Timeouts, ThatAreNegativeAreRefused) {
  World world{1};
  Communicator& own = world[0];
  std::vector<int> x(3, 7), y(3);
  for (const Duration negative : {Duration{-1}, Duration{-milliseconds{30}}, Duration::min()}) {
    const Options options{.timeout = negative};
    const ObjectOptions how{.timeout = negative};
    const Call call = call::all_reduce(x, x, sum);
    const std::vector<Result<void>> outcomes{
        own.try_().run(call, options),
        own.try_().barrier(options),
        own.try_().send(x, 0, 0, options),
        own.try_().sendrecv(x, 0, y, 0, 0, options),
        detail::attempt([&] { static_cast<void>(own.async().run(call, options)); }),
        detail::attempt([&] { static_cast<void>(own.plan().run(call, options)); }),
        try_batch([&] { own.all_reduce(x, sum, options); }),
        detail::attempt([&] { static_cast<void>(objects(own).broadcast(5, 0, how)); }),
        detail::attempt([&] { static_cast<void>(objects(own).async().all_gather(5, how)); }),
        detail::attempt([&] { objects(own).send(5, 0, 0, how); })};
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      ASSERT_FALSE(outcomes[i]) << i;
      const std::string text = outcomes[i].error().what();
      EXPECT_EQ(outcomes[i].error().code(), ErrorCode::invalid_argument) << text;
      EXPECT_NE(text.find("the timeout is -"), std::string::npos) << text;
    }
    sim::Cluster cluster{{.size = 1}};
    EXPECT_THROW(static_cast<void>(make_communicator(cluster.transport(0), make_host_memory(),
                                                     {.timeout = negative})),
                 Error);
  }
  EXPECT_TRUE(own.try_().all_reduce(x)) << "the communicator stays usable";
  EXPECT_EQ(x, std::vector<int>(3, 7));
}

TEST(Timeouts, MayBeForEverInEveryCall) {
  World world{1};
  world.cluster().advance_by(seconds{5});
  Communicator& own = world[0];
  std::vector<int> x(3, 7), y(3);
  const Options options{.timeout = Duration::max()};
  own.all_reduce(x, sum, options);
  batch([&] { own.all_reduce(x, y, sum, options); });
  EXPECT_EQ(y, x);
  EXPECT_EQ(objects(own).all_gather(5, {.timeout = Duration::max()}), std::vector<int>{5});
  World two{2};
  two.cluster().advance_by(seconds{5});
  Request waits = two[0].async().all_reduce(x, sum, options);
  auto object = objects(two[0]).async().recv<int>(1, 0, {.timeout = Duration::max()});
  two.cluster().advance_by(std::chrono::hours{24 * 365 * 200});
  EXPECT_FALSE(waits.test());
  EXPECT_FALSE(object.test());
}

}  // namespace
}  // namespace tutti::harness
