// Calls that start together, on the simulated cluster.
#include <array>
#include <stdexcept>

#include <tutti/batch.hpp>

#include "tests/collectives/rows.hpp"
#include "tests/support/wrapper.hpp"

namespace tutti::harness {
namespace {

using std::chrono::seconds;
using Vector = std::vector<int>;

// Inputs must outlive the expression, since a batch starts its calls later.
// tests/consumer/misuse.py tests that other arrays are rejected.
template <class In>
concept Sent = requires(Communicator& own, In&& in) {
  own.send(std::forward<In>(in), 0);
  { own.try_().send(std::forward<In>(in), 0) } -> std::same_as<Result<void>>;
};
template <class In>
concept Reduced = requires(Communicator& own, In&& in, Vector& out) {
  own.all_reduce(std::forward<In>(in), out);
  own.sendrecv(std::forward<In>(in), 0, out, 0);
};
static_assert(Sent<Vector&> && Sent<const Vector&> && Sent<std::span<const int>>);
static_assert(Reduced<Vector&> && Reduced<const Vector&> && Reduced<std::span<const int>>);

/// Counts posts, and what was posted.
class Counted final : public Wrapper {
 public:
  Counted(std::unique_ptr<Transport> inner, std::vector<std::size_t>& posts)
      : Wrapper{std::move(inner)}, posts_{posts} {}
  void post(std::span<const Transfer> transfers) override {
    posts_.push_back(transfers.size());
    Wrapper::post(transfers);
  }

 private:
  std::vector<std::size_t>& posts_;
};

WorldOptions counting(int size, std::vector<std::size_t>& posts) {
  return {.cluster = {.size = size}, .wrap = [&posts](std::unique_ptr<Transport> inner) {
            return std::make_unique<Counted>(std::move(inner), posts);
          }};
}

TEST(Batches, AreOnePostOfAllTheirFirstMessages) {
  std::vector<std::size_t> posts;
  World world{counting(3, posts)};
  std::array<Vector, 3> x{Vector{1}, Vector{2}, Vector{3}};
  std::array<Vector, 3> y{Vector{1, 1}, Vector{2, 2}, Vector{3, 3}};
  std::array<Vector, 3> z{Vector(1), Vector(1), Vector(1)};
  std::vector<Task> tasks;
  for (Rank rank = 0; rank < 3; ++rank) {
    const auto r = static_cast<std::size_t>(rank);
    std::vector<Request> requests;
    posts.clear();
    batch([&] {
      requests.push_back(world[rank].async().sendrecv(x[r], (rank + 1) % 3, z[r], (rank + 2) % 3));
      requests.push_back(world[rank].async().all_reduce(y[r], sum, {.algorithm = "direct"}));
      requests.push_back(world[rank].async().barrier());
      EXPECT_TRUE(posts.empty()) << "nothing starts before the batch ends";
    });
    ASSERT_EQ(posts.size(), 1U);
    EXPECT_GE(posts[0], 5U) << "two, and those of two collectives";
    for (Request& request : requests) tasks.push_back(task_of(rank, std::move(request)));
  }
  expect_success(world, tasks);
  EXPECT_EQ(z[1], x[0]);
  EXPECT_EQ(y[2], (Vector{6, 6}));
}

/// Results would depend on which of the calls is faster.
TEST(Batches, MayNotWriteWhereAnotherCallReadsOrWrites) {
  World world{2};
  Vector x(100, 1);
  Vector y(100, 2);
  Vector z(200, 3);
  Vector w(100);
  const auto expect_refused = [&](const char* name, const auto& calls) {
    try {
      batch(calls);
      ADD_FAILURE() << name;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      EXPECT_NE(std::string{error.what()}.find(name), std::string::npos) << error.what();
    }
    EXPECT_EQ(x, Vector(100, 1)) << "none has started";
  };
  Communicator& own = world[0];
  const std::span<int> last{&x[99], 1};
  expect_refused("all_reduce and all_reduce", [&] {
    own.all_reduce(x);
    own.all_reduce(x);
  });
  expect_refused("broadcast", [&] {
    own.broadcast(y, 1);
    own.broadcast(last, 1);
    own.broadcast(x, 1);
  });
  expect_refused("send and recv", [&] {
    own.send(x, 1);
    own.recv(last, 1);
  });
  expect_refused("all_gather", [&] {
    own.all_gather(std::span<const int>{y}, z);
    own.broadcast(std::span{z}.first(1), 1);
  });
  std::vector<Task> tasks;
  for (Rank rank = 0; rank < 2; ++rank) {
    std::vector<Request> requests;
    const std::span<int> got = std::span{z}.subspan(rank == 0 ? 0 : 100, 100);
    batch([&] {
      for (const int tag : {1, 2}) requests.push_back(world[rank].async().send(y, 1 - rank, tag));
      requests.push_back(world[rank].async().recv(got, 1 - rank, 1));
      requests.push_back(world[rank].async().recv(rank == 0 ? x : w, 1 - rank, 2));
    });
    for (Request& request : requests) tasks.push_back(task_of(rank, std::move(request)));
  }
  expect_success(world, tasks);
  EXPECT_EQ(z, Vector(200, 2)) << "several may read one array";
}

TEST(Batches, MayHaveMoreCollectivesThanGoOnAtATime) {
  World world{1};
  std::vector<Vector> data(65, Vector(3, 7));
  std::vector<Request> requests;
  const auto start_all = [&](std::size_t count) {
    batch([&] {
      for (std::size_t i = 0; i < count; ++i)
        requests.push_back(world[0].async().all_reduce(data[i]));
    });
  };
  start_all(64);
  std::vector<Task> tasks;
  for (Request& request : requests) tasks.push_back(task_of(0, std::move(request)));
  expect_success(world, tasks);
  requests.clear();
  start_all(65);
  for (Request& request : requests) request.wait();
}

TEST(Batches, ThatThrowHaveStartedNothing) {
  std::vector<std::size_t> posts;
  World world{counting(2, posts)};
  Vector x{1};
  Vector y{2};
  Plan plan = world[0].plan().recv(x, 1);
  EXPECT_THROW(batch([&] {
                 world[0].send(x, 1);
                 world[0].barrier();
                 const Request request = world[0].async().all_reduce(y);
                 plan.start();
                 throw std::runtime_error{"no"};
               }),
               std::runtime_error);
  EXPECT_THROW(batch([&] {
                 world[0].send(x, 1);
                 world[0].send(x, 2);  // there is none
               }),
               Error);
  const auto failed = try_batch([&] { world[0].recv(x, 1, -1); });
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code(), ErrorCode::invalid_argument);
  EXPECT_TRUE(posts.empty());
  // Neither the number of collectives nor the order of messages has suffered.
  std::vector<Task> tasks;
  tasks.push_back(task_of(0, world[0].async().all_reduce(x)));
  tasks.push_back(task_of(1, world[1].async().all_reduce(y)));
  expect_success(world, tasks);
  EXPECT_EQ(x, Vector{3});
  EXPECT_TRUE(plan.test()) << "it does not run";
}

TEST(Batches, RefuseWhatTheyCannotDo) {
  World world{2};
  Vector x{1};
  Request request;
  batch([&] {
    request = world[0].async().send(x, 1);
    EXPECT_EQ(request.try_test().error().code(), ErrorCode::invalid_argument);
    EXPECT_THROW(request.wait(), Error);
    EXPECT_THROW(batch([] {}), Error);
    EXPECT_EQ(world[0].try_split(0).error().code(), ErrorCode::invalid_argument);
    Plan plan = world[0].plan().send(x, 1);
    plan.start();
    EXPECT_THROW(plan.start(), Error) << "it is running";
  });  // the plan is gone, and what it would have sent
  Vector got(1);
  std::vector<Task> tasks;
  tasks.push_back(task_of(0, std::move(request)));
  tasks.push_back(task_of(1, world[1].async().recv(got, 0)));
  expect_success(world, tasks);
  EXPECT_EQ(got, x);
  EXPECT_TRUE(try_batch([] {}));
}

TEST(Batches, DropTheCallsWhoseRequestsAreDropped) {
  std::vector<std::size_t> posts;
  World world{counting(2, posts)};
  Vector x{1};
  batch([&] { const Request dropped = world[0].async().send(x, 1); });
  EXPECT_TRUE(posts.empty());
  std::vector<Task> tasks;
  for (Rank rank = 0; rank < 2; ++rank)
    tasks.push_back(task_of(rank, world[rank].async().barrier()));
  expect_success(world, tasks);
}

TEST(Batches, GoOnWithOneCommunicatorWhereAnotherFails) {
  World first{{.cluster = {.size = 2}}};
  World second{{.cluster = {.size = 2}}};
  Vector x{1};
  Vector y{5};
  { const Request dropped = first[0].async().recv(x, 1); }  // the first one has failed
  Request late;
  std::array<Request, 2> requests;
  const auto failed = try_batch([&] {
    requests[0] = second[0].async().all_reduce(x);
    requests[1] = second[1].async().all_reduce(y);
    EXPECT_FALSE(first[0].try_().barrier());
  });
  EXPECT_TRUE(failed) << "that call was refused, and its Error is known";
  std::vector<Task> tasks;
  tasks.push_back(task_of(0, std::move(requests[0])));
  tasks.push_back(task_of(1, std::move(requests[1])));
  expect_success(second, tasks);
  EXPECT_EQ(y, Vector{6});
}

}  // namespace
}  // namespace tutti::harness
