// Messages between two ranks, on the simulated cluster.
#include <array>
#include <limits>
#include <string>

#include "tests/collectives/rows.hpp"

namespace tutti::harness {
namespace {

using std::chrono::seconds;
using Vector = std::vector<int>;

int value(Rank from, Rank to, int tag, std::size_t index) {
  return (from + 1) * 10'000'000 + (to + 1) * 100'000 + tag * 1'000 + static_cast<int>(index);
}
Vector message(Rank from, Rank to, int tag, std::size_t count) {
  Vector data;
  for (std::size_t i = 0; i < count; ++i) data.push_back(value(from, to, tag, i));
  return data;
}

/// The Error that a call throws at once, which changes nothing.
template <class Start>
Error rejection(const Start& start) {
  try {
    start();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << error.what();
    return error;
  }
  ADD_FAILURE() << "nothing was refused";
  return {ErrorCode::bug, ""};
}

/// @return the error of a barrier on every rank of a failed communicator.
std::vector<Error> next_errors(World& world) {
  std::vector<Task> tasks;
  for (Rank rank = 0; rank < world.size(); ++rank) {
    auto barrier = world[rank].try_().start(call::barrier(), {.timeout = seconds{1}});
    if (barrier) tasks.push_back(task_of(rank, std::move(barrier.value())));
    else tasks.push_back({.rank = rank, .error = barrier.error()});
  }
  EXPECT_TRUE(world.drive(tasks, seconds{3})) << "a rank hangs";
  std::vector<Error> errors;
  for (const Task& task : tasks) {
    EXPECT_TRUE(task.error) << "rank " << task.rank << " was told nothing";
    errors.push_back(task.error.value_or(Error{ErrorCode::bug, "no error"}));
  }
  return errors;
}

class PointToPoint : public ::testing::TestWithParam<int> {};

TEST_P(PointToPoint, MessagesGoFromEveryRankToEveryRank) {
  const int n = GetParam();
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    World world{n, seed};
    sim::Random random{seed};
    std::vector<Task> tasks;
    std::vector<Vector> sent;
    std::vector<Vector> received;
    std::vector<std::array<int, 4>> all;  // from, to, tag, count
    for (Rank from = 0; from < n; ++from)
      for (Rank to = 0; to < n; ++to)
        for (const int tag : {0, 3, kUserTags - 1})
          for (int again = 0; again < 2; ++again)
            all.push_back({from, to, tag, static_cast<int>(random.below(3) * random.below(500))});
    for (const auto& [from, to, tag, count] : all) {
      sent.push_back(message(from, to, tag, static_cast<std::size_t>(count)));
      received.emplace_back(static_cast<std::size_t>(count), -1);
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto [from, to, tag, count] = all[i];
      tasks.push_back(task_of(from, world[from].async().send(sent[i], to, tag)));
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto [from, to, tag, count] = all[i];
      tasks.push_back(task_of(to, world[to].async().recv(received[i], from, tag)));
    }
    expect_success(world, tasks);
    EXPECT_EQ(received, sent);
  }
}

TEST_P(PointToPoint, RingsGoRoundAmongCollectives) {
  const int n = GetParam();
  World world{n, 3};
  std::vector<Task> tasks;
  constexpr int kRounds = 80;  // more than the collectives that may be pending
  std::array<std::vector<Vector>, 2> sums;
  for (auto& each : sums) each.assign(static_cast<std::size_t>(n), Vector(5, 1));
  std::vector<std::vector<Vector>> in(kRounds);
  std::vector<std::vector<Vector>> out(kRounds);
  for (std::size_t round = 0; round < kRounds; ++round)
    for (Rank rank = 0; rank < n; ++rank) {
      const auto count = static_cast<std::size_t>(rank) + round;
      in[round].push_back(message(rank, (rank + 1) % n, 7, count));
      out[round].emplace_back(static_cast<std::size_t>((rank + n - 1) % n) + round);
    }
  for (std::size_t round = 0; round < kRounds; ++round)
    for (Rank rank = 0; rank < n; ++rank) {
      const auto r = static_cast<std::size_t>(rank);
      tasks.push_back(
          task_of(rank, world[rank].async().sendrecv(in[round][r], (rank + 1) % n, out[round][r],
                                                     (rank + n - 1) % n, 7)));
      if (round % 40 == 0)
        tasks.push_back(task_of(rank, world[rank].async().all_reduce(sums[round / 40][r])));
    }
  expect_success(world, tasks);
  for (std::size_t round = 0; round < kRounds; ++round)
    for (std::size_t r = 0; r < in[round].size(); ++r)
      EXPECT_EQ(out[round][(r + 1) % in[round].size()], in[round][r]);
  for (const auto& each : sums)
    for (const Vector& result : each) EXPECT_EQ(result, Vector(5, n));
}

INSTANTIATE_TEST_SUITE_P(Sizes, PointToPoint, ::testing::Values(1, 2, 3, 5));

TEST(Messages, ThatWaitDisturbNoCollective) {
  for (const sim::Delivery delivery : {sim::Delivery::eager, sim::Delivery::rendezvous}) {
    World world{{.cluster = {.size = 3, .delivery = delivery}}};
    std::vector<Task> sends;
    std::array<Vector, 3> data{Vector{1, 2}, Vector{3}, Vector{}};
    sends.push_back(task_of(0, world[0].async().send(data[0], 2)));
    sends.push_back(task_of(1, world[1].async().send(data[1], 2)));
    sends.push_back(task_of(2, world[2].async().send(data[2], 2)));
    for (int call = 0; call < 200; ++call) {
      std::vector<Vector> each(3, Vector{1});
      std::vector<Task> tasks;
      for (Rank rank = 0; rank < 3; ++rank)
        tasks.push_back(
            task_of(rank, world[rank].async().all_reduce(each[static_cast<std::size_t>(rank)])));
      expect_success(world, tasks);
      EXPECT_EQ(each[1], Vector{3});
    }
    std::array<Vector, 3> got{Vector(2), Vector(1), Vector{}};
    for (std::size_t from = 0; from < 3; ++from)
      sends.push_back(task_of(2, world[2].async().recv(got[from], static_cast<Rank>(from))));
    expect_success(world, sends);
    EXPECT_EQ(got, data);
  }
}

TEST(Messages, ThatWaitHideNoDisagreement) {
  World world{{.cluster = {.size = 2, .delivery = sim::Delivery::eager}}};
  Vector x{1};
  std::vector<Task> tasks;
  tasks.push_back(task_of(0, world[0].async().send(x, 1)));
  tasks.push_back(task_of(1, world[1].async().send(x, 0)));
  std::vector<Vector> own(2, Vector(4));
  for (Rank rank = 0; rank < 2; ++rank)  // each takes itself for the root
    tasks.push_back(
        task_of(rank, world[rank].async().broadcast(own[static_cast<std::size_t>(rank)], rank)));
  ASSERT_TRUE(world.drive(tasks));
  for (const Error& error : next_errors(world))
    EXPECT_EQ(error.cause(), ErrorCode::mismatch) << error.what();
}

TEST(Messages, PlansRunAgainOnOtherBuffers) {
  World world{2};
  Vector in{1, 2, 3};
  Vector out(3);
  Plan send = world[0].plan().send(in, 1, 2);
  Plan recv = world[1].plan().recv(out, 0, 2);
  EXPECT_EQ(send.algorithm(), "send");
  for (int run = 0; run < 3; ++run) {
    in[0] = run;
    Vector other(3);
    send.start();
    if (run == 2) recv.start(nullptr, other.data());
    else recv.start();
    std::vector<Task> tasks{{.rank = 0, .test = [&] { return send.test(); }},
                            {.rank = 1, .test = [&] { return recv.test(); }}};
    expect_success(world, tasks);
    EXPECT_EQ(run == 2 ? other : out, in);
  }
  Vector back(3);
  Plan both = world[1].plan().sendrecv(in, 1, back, 1);
  both.start();
  std::vector<Task> tasks{{.rank = 1, .test = [&] { return both.test(); }}};
  expect_success(world, tasks);
  EXPECT_EQ(back, in);
}

TEST(Messages, ArraysMayBeOfAnyKind) {
  struct Point {
    double x = 0;
    int y = 0;
    bool operator==(const Point&) const = default;
  };
  World world{1};
  const auto finish = [&](Request request) {
    std::vector<Task> tasks;
    tasks.push_back(task_of(0, std::move(request)));
    expect_success(world, tasks);
  };
  std::array<Point, 2> points{{{1, 2}, {3, 4}}};
  Point got[2];
  finish(world[0].async().sendrecv(std::span<const Point>{points}, 0, got, 0));
  EXPECT_EQ(got[1], points[1]);
  Request sent = world[0].async().send(std::as_bytes(std::span{points}), 0, 1);
  std::array<std::byte, sizeof points> bytes{};
  finish(world[0].async().recv(bytes, 0, 1));
  finish(std::move(sent));
  EXPECT_TRUE(std::ranges::equal(bytes, std::as_bytes(std::span{points})));
  auto buffer = world[0].allocate<float>(3);
  sent = world[0].async().send(buffer, 0);
  finish(world[0].async().recv(buffer, 0));
  finish(std::move(sent));
}

TEST(Messages, BadArgumentsAreRefusedAndChangeNothing) {
  World world{2};
  Communicator& own = world[0];
  Vector x(3);
  const auto expect = [](const Error& error, const std::string& words) {
    EXPECT_NE(std::string{error.what()}.find(words), std::string::npos) << error.what();
  };
  expect(rejection([&] { own.send(x, 2); }), "send: rank 2 is not in this communicator");
  expect(rejection([&] { own.send(x, -1); }), "expected 0 .. 1");
  expect(rejection([&] { own.recv(x, 2); }), "recv: rank 2");
  expect(rejection([&] { own.sendrecv(x, 0, x, 9); }), "sendrecv: rank 9");
  const std::span<int> all{x};
  expect(rejection([&] { own.sendrecv(all.first(2), 0, all.subspan(1), 0); }),
         "sendrecv: input and output overlap");
  expect(rejection([&] { own.send(x, 1, -1); }), "tag -1 is not within 0 .. 8191");
  expect(rejection([&] { (void)own.async().send(x, 1, kUserTags); }), "tag 8192");
  expect(rejection([&] { (void)own.plan().recv(x, 1, kUserTags); }), "tag 8192");
  expect(rejection([&] { own.send(x, 1, 0, {.algorithm = "ring"}); }), "no algorithm");
  expect(rejection([&] { own.send(x, 1, 0, {.segment = 64}); }), "no segments");
  const std::array<std::size_t, 1> counts{3};
  expect(rejection([&] { own.send(x, 1, 0, {.counts = counts}); }), "no counts");
  expect(rejection([&] {
           own.send(std::span<int>{static_cast<int*>(nullptr), 3}, 1);
         }),
         "the input is a null pointer");
  expect(rejection([&] {
           own.recv(std::span<int>{static_cast<int*>(nullptr), 3}, 1);
         }),
         "the output is a null pointer");
  const std::span<int> endless{x.data(), std::numeric_limits<std::size_t>::max() / sizeof(int)};
  expect(rejection([&] { own.sendrecv(endless, 1, x, 1); }), "too many to be addressed");
  expect(rejection([&] { own.sendrecv(x, 1, endless, 1); }), "too many to be addressed");
  Call narrow = call::send(x, 1, 0);
  narrow.element_bytes = 1;
  expect(rejection([&] { own.run(narrow); }), "cannot have 1 bytes");
  EXPECT_EQ(own.try_().send(x, 2).error().code(), ErrorCode::invalid_argument);
  EXPECT_EQ(own.try_().recv(x, 2).error().code(), ErrorCode::invalid_argument);
  EXPECT_EQ(own.try_().sendrecv(x, 2, x, 1).error().code(), ErrorCode::invalid_argument);
  EXPECT_EQ(own.explain(call::send(x, 1, 4)),
            "send to rank 1 of 12 bytes with tag 4: one message, without an algorithm");
  Vector got(3);
  std::vector<Task> tasks;
  tasks.push_back(task_of(0, own.async().send(x, 1)));
  tasks.push_back(task_of(1, world[1].async().recv(got, 0)));
  expect_success(world, tasks);
}

TEST(Messages, TagsAreAsManyAsTheTransportHas) {
  World world{{.cluster = {.size = 1, .tags = 8 * 64 + 2}}};
  Vector x(1);
  EXPECT_NE(std::string{rejection([&] { world[0].send(x, 0, 2); }).what()}.find("0 .. 1"),
            std::string::npos);
  Vector y(1);
  std::vector<Task> tasks;
  tasks.push_back(task_of(0, world[0].async().sendrecv(x, 0, y, 0, 1)));
  expect_success(world, tasks);
  World poor{{.cluster = {.size = 1, .tags = 8}}};
  EXPECT_NE(std::string{rejection([&] { poor[0].send(x, 0); }).what()}.find("no tags to spare"),
            std::string::npos);
}

/// Expects the error of a message from rank 0 that rank 1 receives as another one.
template <class In, class Out>
Error disagreement(const In& in, Out&& out, sim::Delivery delivery) {
  World world{{.cluster = {.size = 2, .delivery = delivery, .scribble = true},
               .communicator = {.timeout = seconds{1}}}};
  std::vector<Task> tasks;
  tasks.push_back(task_of(0, world[0].async().send(in, 1)));
  tasks.push_back(task_of(1, world[1].async().recv(out, 0)));
  EXPECT_TRUE(world.drive(tasks, seconds{3}));
  EXPECT_TRUE(tasks[1].error) << "wrong data";
  (void)next_errors(world);  // a sender may have ended its call: its next one fails
  return tasks[1].error.value_or(Error{ErrorCode::bug, "no error"});
}

TEST(Messages, CountsAndTypesThatDifferAreAMismatch) {
  for (const sim::Delivery delivery : {sim::Delivery::eager, sim::Delivery::rendezvous}) {
    for (const std::size_t count : {0U, 3U, 5U}) {
      const Error error = disagreement(Vector(4), Vector(count), delivery);
      EXPECT_EQ(error.code(), ErrorCode::mismatch) << error.what();
      EXPECT_EQ(error.culprit(), 0);
      EXPECT_NE(std::string{error.what()}.find("rank 0 sent 16 bytes"), std::string::npos)
          << error.what();
    }
    EXPECT_EQ(disagreement(Vector{}, Vector(1), delivery).code(), ErrorCode::mismatch);
    const Error error = disagreement(Vector(4), std::vector<float>(4), delivery);
    EXPECT_EQ(error.code(), ErrorCode::mismatch);
    EXPECT_NE(std::string{error.what()}.find(
                  "rank 0 sent i32 elements of 4 bytes, this rank receives f32 elements"),
              std::string::npos)
        << error.what();
  }
}

TEST(Messages, DeadlinesNameTheCallAndThePeer) {
  for (const bool receives : {false, true}) {
    World world{{.cluster = {.size = 3, .delivery = sim::Delivery::rendezvous}}};
    Vector x(2);
    std::vector<Task> tasks;
    const Options options{.timeout = seconds{1}};
    tasks.push_back(task_of(0, receives ? world[0].async().recv(x, 2, 5, options)
                                        : world[0].async().send(x, 2, 5, options)));
    ASSERT_TRUE(world.drive(tasks, seconds{3}));
    ASSERT_TRUE(tasks[0].error);
    EXPECT_EQ(tasks[0].error->code(), ErrorCode::timeout);
    EXPECT_EQ(tasks[0].error->culprit(), 2);
    const std::string text = tasks[0].error->what();
    EXPECT_EQ(text.find(receives ? "recv from rank 2 of 8 bytes with tag 5 timed out on rank 0"
                                 : "send to rank 2 of 8 bytes with tag 5 timed out on rank 0"),
              0U)
        << text;
  }
}

TEST(Messages, DeathsAndAbortsEndTheWait) {
  {
    World world{{.cluster = {.size = 2,
                             .faults = {{.rank = 1, .kind = sim::Fault::Kind::death}},
                             .detect_death = true}}};
    Vector x(2);
    std::vector<Task> tasks;
    tasks.push_back(task_of(1, world[1].async().send(x, 0)));
    tasks.push_back(task_of(0, world[0].async().recv(x, 1)));
    ASSERT_TRUE(world.drive(tasks, seconds{3}));
    ASSERT_TRUE(tasks[1].error);
    EXPECT_EQ(tasks[1].error->code(), ErrorCode::peer_dead) << tasks[1].error->what();
  }
  World world{2};
  Vector x(2);
  { const Request dropped = world[1].async().recv(x, 0); }
  for (const Error& error : next_errors(world))
    EXPECT_EQ(error.code(), ErrorCode::aborted) << error.what();
}

}  // namespace
}  // namespace tutti::harness
