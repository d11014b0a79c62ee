// One communicator serves one thread at a time, and no call within another one: what comes second
// is refused, and what came first ends right.
#include <atomic>
#include <thread>

#include <tutti/batch.hpp>
#include <tutti/objects.hpp>
#include <tutti/spi/communicator.hpp>
#include <tutti/spi/memory.hpp>

#include "tests/backends/shm/pair.hpp"
#include "tests/collectives/rows.hpp"
#include "tests/objects/text.hpp"
#include "tests/support/wrapper.hpp"

namespace tutti::harness {
namespace {

using Vector = std::vector<long>;
using std::chrono::microseconds;
using std::chrono::milliseconds;

/// Tells that somebody waits.
class Watched final : public Wrapper {
 public:
  Watched(std::unique_ptr<Transport> inner, std::atomic<int>& polls)
      : Wrapper{std::move(inner)}, polls_{polls} {}
  void poll() override {
    ++polls_;
    Wrapper::poll();
  }

 private:
  std::atomic<int>& polls_;
};

/// Two ranks that may wait for each other in different threads.
class Pair {
 public:
  Pair() {
    for (const Rank rank : shm::kBoth)
      communicators_.push_back(make_communicator(
          std::make_unique<Watched>(host_.transport(rank), polls(rank)), make_host_memory()));
  }
  [[nodiscard]] Communicator& operator[](Rank rank) {
    return communicators_[static_cast<std::size_t>(rank)];
  }
  /// Returns when a rank waits in a call.
  void await_waiting(Rank rank) {
    for (const int before = polls(rank); polls(rank) < before + 3;) std::this_thread::yield();
  }

 private:
  [[nodiscard]] std::atomic<int>& polls(Rank rank) {
    return polls_[static_cast<std::size_t>(rank)];
  }

  shm::Host host_{2};
  std::array<std::atomic<int>, 2> polls_{};
  std::vector<Communicator> communicators_{};
};

/// @return whether it was refused as a second thread's.
bool is_refusal(const Error& error) {
  return error.code() == ErrorCode::invalid_argument &&
         std::string_view{error.what()}.find("two threads at once") != std::string_view::npos;
}

/// Makes a call until it is not refused. @return what else went wrong.
template <class Function>
std::string insist(const Function& call) {
  while (true) try {
      call();
      return {};
    } catch (const Error& error) {
      if (!is_refusal(error)) return error.what();
      std::this_thread::yield();
    }
}

template <class Function>
void expect_refused(const char* name, const Function& call) {
  try {
    call();
    ADD_FAILURE() << name << " was not refused";
  } catch (const Error& error) {
    EXPECT_TRUE(is_refusal(error)) << name << ": " << error.what();
  }
}

void expect_refusals(Communicator& own, Request& request, Plan& plan) {
  Vector x(4), y(4);
  const Call call = call::all_reduce(x, x, sum);
  expect_refused("run", [&] { own.all_reduce(x); });
  expect_refused("start", [&] { static_cast<void>(own.async().run(call)); });
  expect_refused("plan", [&] { static_cast<void>(own.plan().run(call)); });
  expect_refused("explain", [&] { static_cast<void>(own.explain(call)); });
  expect_refused("send", [&] { own.send(x, 1); });
  expect_refused("sendrecv", [&] { own.sendrecv(x, 1, y, 1); });
  expect_refused("split", [&] { static_cast<void>(own.split(0)); });
  expect_refused("split without a color", [&] { own.split(no_color); });
  expect_refused("batch", [&] { batch([&] { own.all_reduce(x); }); });
  expect_refused("Request::test", [&] { request.test(); });
  expect_refused("Request::wait", [&] { request.wait(); });
  expect_refused("Plan::start", [&] { plan.start(); });
  expect_refused("Plan::test", [&] { plan.test(); });
  expect_refused("Plan::wait", [&] { plan.wait(); });
  expect_refused("broadcast_object", [&] { static_cast<void>(objects(own).broadcast(1)); });
  expect_refused("all_gather_object",
                 [&] { static_cast<void>(objects(own).async().all_gather(1)); });
  expect_refused("send_object", [&] { objects(own).send(1, 1); });
  EXPECT_EQ(detail::ObjectAccess::bytes(own).data, nullptr);
  EXPECT_TRUE(is_refusal(own.try_().run(call).error()));
  EXPECT_TRUE(is_refusal(own.try_().start(call).error()));
  EXPECT_TRUE(is_refusal(own.try_().plan(call).error()));
  EXPECT_TRUE(is_refusal(own.try_split(0).error()));
  EXPECT_TRUE(is_refusal(objects(own).try_().all_gather(1).error()));
  EXPECT_EQ(own.rank(), 0) << "what never changes may be asked for";
  EXPECT_EQ(own.size(), 2);
  EXPECT_FALSE(own.describe().empty());
  EXPECT_EQ(own.allocate<int>(5).size(), 5U);
}

TEST(TwoThreads, GetAnErrorInTheSecondCall) {
  Pair pair;
  Communicator& own = pair[0];
  Vector early{1}, planned{10}, late{100};
  Request request = own.async().all_reduce(early);
  auto moved = objects(own).async().all_gather(7);
  Plan plan = own.plan().all_reduce(planned);
  Result<void> first = Error{ErrorCode::aborted, "it has not ended"};
  std::thread thread{[&] { first = own.try_().all_reduce(late); }};
  pair.await_waiting(0);
  expect_refusals(own, request, plan);
  expect_refused("ObjectRequest::test", [&] { moved.test(); });
  expect_refused("ObjectRequest::wait", [&] { static_cast<void>(moved.wait()); });
  Vector theirs{2};
  pair[1].all_reduce(theirs);
  EXPECT_EQ(objects(pair[1]).all_gather(8), (std::vector<int>{7, 8}));
  pair[1].all_reduce(theirs);
  thread.join();
  EXPECT_TRUE(first) << first.error().what();
  request.wait();
  EXPECT_EQ(moved.wait(), (std::vector<int>{7, 8}));
  EXPECT_EQ(early, Vector{3});
  EXPECT_EQ(late, Vector{103});
  std::thread other{[&] {
    Plan same = pair[1].plan().all_reduce(theirs);
    same.start();
    same.wait();
  }};
  plan.start();
  plan.wait();
  other.join();
  EXPECT_EQ(planned, Vector{113});
}

// A destructor cannot throw, so it waits for the other thread.
TEST(TwoThreads, MayDropWhatHasEnded) {
  Pair pair;
  Vector early{1}, late{100}, theirs{2};
  std::optional<Request> request = pair[0].async().all_reduce(early);
  std::optional<Plan> plan = pair[0].plan().all_reduce(late);
  pair[1].all_reduce(theirs);
  while (!request->test()) {
  }
  request = pair[0].async().run(call::send(early, 0, 5));
  Vector self(1);
  pair[0].recv(self, 0, 5);
  Result<void> first = Error{ErrorCode::aborted, "it has not ended"};
  std::thread thread{[&] { first = pair[0].try_().all_reduce(late); }};
  pair.await_waiting(0);
  std::thread dropper{[&] {
    request.reset();
    plan.reset();
  }};
  std::this_thread::sleep_for(milliseconds{5});
  pair[1].all_reduce(theirs);
  thread.join();
  dropper.join();
  EXPECT_TRUE(first) << first.error().what();
  EXPECT_EQ(late, Vector{103});
  EXPECT_EQ(self, Vector{3});
}

// Both threads of each rank make the same calls, so that it does not matter which of them does.
TEST(TwoThreads, ThatHammerGetRightSumsOrErrors) {
  constexpr int kCalls = 1000;
  Pair pair;
  std::array<std::atomic<int>, 2> tickets{kCalls, kCalls};
  std::array<std::string, 4> problems;
  std::vector<std::thread> threads;
  for (std::size_t index = 0; index < problems.size(); ++index)
    threads.emplace_back([&, index] {
      const auto rank = static_cast<Rank>(index % 2);
      while (problems[index].empty() && tickets[index % 2]-- > 0) {
        Vector sums(3), own(3, rank + 1);
        problems[index] = insist([&] { pair[rank].all_reduce(own, sums); });
        if (problems[index].empty() && sums != Vector(3, 3)) problems[index] = "a wrong sum";
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& problem : problems) EXPECT_EQ(problem, "");
}

void expect(bool is_right, const char* what) {
  if (!is_right) throw Error{ErrorCode::aborted, what};
}

/// Something of each kind, as far as one rank can do it alone.
std::string do_everything(Communicator& own, long seed) {
  const Vector in{seed, seed + 1};
  Vector out(2), more(2);
  const Call call = call::all_reduce(call::In<Vector&>{in}, out, sum);
  const samples::Text text = samples::text_of(50'000, static_cast<std::size_t>(seed));
  std::array<std::string, 7> problems;
  problems[0] = insist([&] { own.run(call); });
  problems[1] = insist([&] { static_cast<void>(own.explain(call)); });
  std::optional<Request> request;
  problems[2] = insist([&] { request = own.async().run(call); });
  if (request) problems[3] = insist([&] { request->wait(); });
  problems[4] = insist([&] {
    batch([&] {
      own.all_reduce(in, out);
      own.all_reduce(in, more);
    });
    expect(out == in && more == in, "a batch with wrong sums");
  });
  problems[5] = insist([&] { expect(objects(own).broadcast(text) == text, "another object"); });
  problems[6] =
      insist([&] { expect(objects(own).all_gather(text) == std::vector{text}, "other objects"); });
  for (const std::string& problem : problems)
    if (!problem.empty()) return problem;
  return out == in ? "" : "a wrong sum";
}

TEST(TwoThreads, MayDoWhatTheyLikeInTurns) {
  sim::Cluster cluster{{.size = 1}};
  Communicator own = make_communicator(cluster.transport(0), make_host_memory());
  std::array<std::string, 3> problems;
  std::vector<std::thread> threads;
  for (std::size_t index = 0; index < problems.size(); ++index)
    threads.emplace_back([&, index] {
      for (long round = 0; round < 200 && problems[index].empty(); ++round)
        problems[index] = do_everything(own, static_cast<long>(index) * 1000 + round);
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& problem : problems) EXPECT_EQ(problem, "");
}

// An object takes several steps, between which no other thread comes.
TEST(TwoThreads, DoNotComeBetweenTheStepsOfAnObject) {
  Pair pair;
  std::atomic<bool> is_over = false;
  std::array<std::string, 3> problems;
  const auto exchange = [&](Rank rank) {
    for (std::size_t round = 0; round < 10; ++round) {
      const samples::Text text = samples::text_of(300'000, round);
      const std::string problem = insist([&] {
        const samples::Text got = objects(pair[rank]).broadcast(rank == 0 ? text : samples::Text{});
        expect(got == text, "another object");
      });
      if (!problem.empty()) return problem;
    }
    return std::string{};
  };
  std::thread intruder{[&] {
    Vector x(4);
    const Call call = call::all_reduce(x, x, sum);
    while (!is_over && problems[2].empty()) {
      problems[2] = insist([&] { static_cast<void>(pair[1].explain(call)); });
      problems[2] += insist([&] { static_cast<void>(pair[1].plan().run(call)); });
      std::this_thread::sleep_for(microseconds{20});
    }
  }};
  std::thread second{[&] { problems[1] = exchange(1); }};
  problems[0] = exchange(0);
  second.join();
  is_over = true;
  intruder.join();
  for (const std::string& problem : problems) EXPECT_EQ(problem, "");
}

// So do calls that first find out how much there is.
TEST(TwoThreads, DoNotComeBetweenTheCallsOfOne) {
  Pair pair;
  std::array<std::atomic<int>, 2> tickets{300, 300};
  std::array<std::string, 4> problems;
  const auto gather = [&](Rank rank) {
    const std::vector<int> own(3, rank);
    const std::vector<int> all = pair[rank].all_gatherv(own);
    expect(all == std::vector<int>{0, 0, 0, 1, 1, 1}, "other elements");
  };
  std::vector<std::thread> threads;
  for (std::size_t index = 0; index < problems.size(); ++index)
    threads.emplace_back([&, index] {
      while (problems[index].empty() && tickets[index % 2]-- > 0)
        problems[index] = insist([&] { gather(static_cast<Rank>(index % 2)); });
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& problem : problems) EXPECT_EQ(problem, "");
}

TEST(TwoThreads, DoNotComeBetweenTheCallsOfABatch) {
  Pair pair;
  Vector x{1}, y{10}, theirs{2};
  std::thread other{[&] {
    pair[1].all_reduce(theirs);
    pair[1].all_reduce(theirs);
  }};
  batch([&] {
    pair[0].all_reduce(x);
    std::thread{[&] {
      expect_refused("a call", [&] { pair[0].all_reduce(x); });
      expect_refused("a batch", [&] { batch([&] { pair[0].all_reduce(x); }); });
    }}.join();
    pair[0].all_reduce(y);
  });
  other.join();
  EXPECT_EQ(x, Vector{3});
  EXPECT_EQ(y, Vector{13});
  std::thread{[&] { static_cast<void>(pair[0].explain(call::barrier())); }}.join();
}

/// Reduces on two ranks with an operator that does what a test likes. @param inside is told on
/// which rank. @return how that went on rank 0.
Result<void> reduce_with(World& world, const std::function<void(Rank)>& inside) {
  std::vector<Vector> data{{1}, {2}};
  std::vector<Operator> operators;
  std::vector<Task> tasks;
  for (const Rank rank : {0, 1})
    operators.emplace_back(
        [&inside, rank](const void*, const void* right, void* out, std::size_t count) {
          std::memmove(out, right, count * sizeof(long));
          inside(rank);
        },
        true);
  for (const Rank rank : {0, 1}) {
    const auto r = static_cast<std::size_t>(rank);
    tasks.push_back(task_of(rank, world[rank].async().all_reduce(
                                      data[r], operators[r], {.algorithm = "recursive_doubling"})));
  }
  EXPECT_TRUE(world.drive(tasks));
  if (tasks[0].error) return *tasks[0].error;
  return {};
}

TEST(CallsWithinACall, AreRefusedOnTheSameCommunicator) {
  World world{2};
  Vector x(1);
  std::vector<std::string> answers;
  const Result<void> outcome = reduce_with(world, [&](Rank rank) {
    const Result<void> inner = world[rank].try_().all_reduce(x);
    answers.emplace_back(inner ? "it was made" : inner.error().what());
  });
  EXPECT_TRUE(outcome) << outcome.error().what();
  ASSERT_EQ(answers.size(), 2U);
  for (const std::string& answer : answers)
    EXPECT_NE(answer.find("within one of its own calls"), std::string::npos) << answer;
}

TEST(CallsWithinACall, MayBeOfAnotherCommunicator) {
  World world{2};
  World other{1};
  int times = 0;
  EXPECT_TRUE(reduce_with(world, [&](Rank) {
    Vector x{5};
    other[0].all_reduce(x);
    times += x == Vector{5} ? 1 : 0;
  }));
  EXPECT_EQ(times, 2);
}

// A pending one fails its communicator, but not in the midst of a call.
TEST(CallsWithinACall, MayDropHandles) {
  World world{2};
  Vector x(1);
  std::optional<Plan> idle = world[0].plan().all_reduce(x);
  EXPECT_TRUE(reduce_with(world, [&](Rank) { idle.reset(); }));
  EXPECT_FALSE(idle);
  std::optional<Request> pending = world[0].async().run(call::recv(x, 1, 2));
  auto object = objects(world[0]).async().recv<int>(1, 3);
  static_cast<void>(reduce_with(world, [&](Rank rank) {
    if (rank == 1) return;
    pending.reset();
    object = {};
  }));
  EXPECT_FALSE(pending);
  const Result<void> later = world[0].try_().barrier();
  ASSERT_FALSE(later);
  EXPECT_NE(std::string{later.error().what()}.find("dropped"), std::string::npos)
      << later.error().what();
}

}  // namespace
}  // namespace tutti::harness
