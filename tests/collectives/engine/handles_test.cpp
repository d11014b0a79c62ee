// Requests and plans as values: moved, assigned, started too often, and without exceptions.
#include <utility>

#include <tutti/batch.hpp>
#include <tutti/objects.hpp>
#include <tutti/spi/communicator.hpp>

#include "tests/collectives/rows.hpp"

namespace tutti::harness {
namespace {

using std::chrono::milliseconds;

TEST(Requests, AssignedOverReleaseWhatTheyHad) {
  World a{2, 1};
  World b{2, 2};
  std::vector<int> data(10), more(10);
  Request target = a[0].async().all_reduce(std::span{data});
  Request source = b[0].async().all_reduce(std::span{more});
  target = std::move(source);
  EXPECT_TRUE(source.test()) << "it is empty";
  EXPECT_FALSE(a[0].try_().barrier()) << "its pending operation was dropped";
  EXPECT_FALSE(target.test()) << "it has the other's operation";
}

TEST(Requests, AssignedToThemselvesStay) {
  World world{2};
  std::vector<int> data(10);
  Request request = world[0].async().all_reduce(std::span{data});
  Request& same = request;
  request = std::move(same);
  EXPECT_FALSE(request.test());
}

TEST(Plans, AssignedOverReleaseWhatTheyHad) {
  World a{2, 1};
  World b{2, 2};
  std::vector<int> data(10), more(20);
  Plan target = a[0].plan().all_reduce(std::span{data});
  Plan source = b[0].plan().all_reduce(std::span{more});
  target.start();
  target = std::move(source);
  EXPECT_FALSE(a[0].try_().barrier()) << "its pending run was dropped";
  target.start();
  EXPECT_FALSE(target.test());
}

TEST(Plans, ThatAreEmptyHaveNoRun) {
  World world{2};
  std::vector<int> data(10);
  Plan source = world[0].plan().all_reduce(std::span{data});
  const Plan target = std::move(source);
  EXPECT_TRUE(source.test());
  source.wait();
  try {
    source.start();
    FAIL() << "an empty plan was started";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << error.what();
  }
}

TEST(Handles, HaveTwinsThatDoNotThrow) {
  World world{{.cluster = {.size = 2, .delivery = sim::Delivery::eager}}};
  std::vector<int> data(10);
  const Call call = call::broadcast(std::span{data}, 0);
  Result<Request> request = world[0].try_().start(call);
  Result<Plan> plan = world[0].try_().plan(call);
  ASSERT_TRUE(request);
  ASSERT_TRUE(plan);
  ASSERT_TRUE(plan.value().try_start());
  EXPECT_EQ(plan.value().try_start().error().code(), ErrorCode::invalid_argument);
  Result<bool> done = request.value().try_test();
  ASSERT_TRUE(done);
  EXPECT_FALSE(done.value());
  while (world.cluster().advance()) {
  }
  EXPECT_TRUE(request.value().try_wait());
  EXPECT_TRUE(plan.value().try_wait());
  EXPECT_TRUE(plan.value().try_test().value());
  EXPECT_EQ(plan.value().try_start(nullptr, nullptr).error().code(), ErrorCode::invalid_argument);
  const Call wrong = call::broadcast(std::span{data}, 2);
  EXPECT_EQ(world[0].try_().start(wrong).error().code(), ErrorCode::invalid_argument);
  EXPECT_EQ(world[0].try_().plan(wrong).error().code(), ErrorCode::invalid_argument);
}

TEST(Handles, ReturnTheErrorInEveryCall) {
  World world{2};
  std::vector<int> data(10);
  Request request =
      world[0].async().all_reduce(std::span{data}, sum, {.timeout = milliseconds{20}});
  Plan plan = world[0].plan().all_reduce(std::span{data});
  EXPECT_TRUE(request.try_test());
  world.cluster().advance_by(milliseconds{30});
  for (int again = 0; again < 2; ++again) {
    EXPECT_EQ(request.try_test().error().code(), ErrorCode::timeout);
    EXPECT_EQ(request.try_wait().error().code(), ErrorCode::timeout);
    EXPECT_EQ(plan.try_start().error().code(), ErrorCode::timeout);
  }
}

template <class Function>
void expect_empty(const char* name, const Function& call) {
  try {
    call();
    ADD_FAILURE() << name << " was possible";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << name;
    EXPECT_STREQ(error.what(), "the communicator is empty, because it was moved from") << name;
  }
}

TEST(CommunicatorsThatWereMovedFrom, SayThatTheyAreEmpty) {
  World world{1};
  Communicator& empty = world[0];
  Communicator full = std::move(empty);
  std::vector<int> x(2), y(2);
  const Call call = call::all_reduce(x, x, sum);
  EXPECT_EQ(empty.rank(), -1);
  EXPECT_EQ(empty.size(), 0);
  EXPECT_EQ(detail::ObjectAccess::bytes(empty).bytes, 0U);
  expect_empty("transport", [&] { static_cast<void>(transport_of(empty)); });
  expect_empty("describe", [&] { static_cast<void>(empty.describe()); });
  expect_empty("allocate", [&] { static_cast<void>(empty.allocate<int>(3)); });
  expect_empty("group", [&] { static_cast<void>(empty.group({0})); });
  expect_empty("group of none", [&] { static_cast<void>(empty.group(std::span<const Rank>{})); });
  expect_empty("split", [&] { static_cast<void>(empty.split(0)); });
  expect_empty("split without a color", [&] { empty.split(no_color); });
  expect_empty("run", [&] { empty.all_reduce(x); });
  expect_empty("barrier", [&] { empty.barrier(); });
  expect_empty("send", [&] { empty.send(x, 0); });
  expect_empty("sendrecv", [&] { empty.sendrecv(x, 0, y, 0); });
  expect_empty("start", [&] { static_cast<void>(empty.async().run(call)); });
  expect_empty("plan", [&] { static_cast<void>(empty.plan().run(call)); });
  expect_empty("explain", [&] { static_cast<void>(empty.explain(call)); });
  expect_empty("batch", [&] { batch([&] { empty.all_reduce(x); }); });
  expect_empty("broadcast_object", [&] { static_cast<void>(objects(empty).broadcast(1)); });
  expect_empty("gather_object_async", [&] { static_cast<void>(objects(empty).async().gather(1)); });
  expect_empty("recv_object", [&] { static_cast<void>(objects(empty).recv<int>(0)); });
  const std::vector<Result<void>> twins{empty.try_().all_reduce(x),
                                        objects(empty).try_().send(1, 0),
                                        empty.try_().run(call),
                                        empty.try_().barrier(),
                                        empty.try_().start(call).error(),
                                        empty.try_().plan(call).error(),
                                        empty.try_split(0).error(),
                                        empty.try_group(std::array{0}).error(),
                                        try_batch([&] { empty.barrier(); })};
  for (const Result<void>& twin : twins) expect_empty("a twin", [&] { throw Error{twin.error()}; });
  full.all_reduce(x);
  empty = std::move(full);
  EXPECT_EQ(empty.size(), 1);
  empty.all_reduce(x);
}

TEST(Plans, ThatAreEmptyHaveNoAlgorithm) {
  World world{2};
  std::vector<int> data(10);
  Plan source = world[0].plan().all_reduce(std::span{data}, sum, {.segment = 8});
  EXPECT_NE(source.algorithm(), "");
  const Plan target = std::move(source);
  EXPECT_EQ(source.algorithm(), "");
  EXPECT_EQ(source.segment(), 0U);
  EXPECT_FALSE(source.try_start());
}

TEST(ObjectRequests, ThatAreEmptyHaveNothing) {
  World world{1};
  ObjectRequest<int> source = objects(world[0]).async().broadcast(5);
  ObjectRequest<int> target = std::move(source);
  EXPECT_TRUE(source.test());
  EXPECT_EQ(source.try_wait().error().code(), ErrorCode::invalid_argument);
  EXPECT_EQ(target.wait(), 5);
  EXPECT_EQ(target.try_wait().error().code(), ErrorCode::invalid_argument);
  ObjectExchange exchange;
  EXPECT_EQ(exchange.count(), 0U);
  EXPECT_TRUE(exchange.object(0).empty());
  EXPECT_THROW(static_cast<void>(exchange.decode<int>(0)), Error);
  exchange.wait_to_decode();
}

}  // namespace
}  // namespace tutti::harness
