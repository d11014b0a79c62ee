// Operations that notify an event loop of their end.
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <latch>

#include <tutti/objects.hpp>

#include "tests/runtime/worlds.hpp"

namespace tutti::test {
namespace {

/// An eventfd, as an event loop waits for it.
class Events {
 public:
  Events() = default;
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;
  ~Events() { close(descriptor_); }
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  /// Waits for notices. @return their number, or 0 after a time.
  [[nodiscard]] std::uint64_t wait(milliseconds time = kAmple) const {
    pollfd wanted{descriptor_, POLLIN, 0};
    std::uint64_t count = 0;
    if (::poll(&wanted, 1, static_cast<int>(time.count())) != 1) return 0;
    return ::read(descriptor_, &count, sizeof count) == sizeof count ? count : 0;
  }

 private:
  int descriptor_ = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
};

class Notices : public testing::TestWithParam<Setting> {
 protected:
  static void run(const std::function<void(Communicator&)>& body) {
    for (const Outcome& outcome : in_world(GetParam(), body))
      EXPECT_FALSE(outcome.error) << outcome.text();
  }
};

TEST_P(Notices, ComeToRanksThatOnlyWaitForThem) {
  run([](Communicator& world) {
    const Events events;
    for (const std::size_t count : {1U, 3'000U, 2'000'000U}) {
      std::vector<int> data(count, world.rank() + 1);
      Request request = world.async().all_reduce(data);
      request.notify(events.descriptor());
      EXPECT_EQ(events.wait(), 1u);
      EXPECT_TRUE(request.test());
      EXPECT_EQ(data.back(), world.size() * (world.size() + 1) / 2);
      EXPECT_EQ(events.wait(milliseconds{0}), 0u) << "one notice only";
    }
    world.barrier();
  });
}

TEST_P(Notices, ComeOfEachOperation) {
  run([](Communicator& world) {
    const Events events;
    std::vector<int> data(200, 1);
    std::vector<Request> requests;
    for (int& element : data) {
      requests.push_back(world.async().all_reduce(std::span{&element, 1}));
      requests.back().notify(events.descriptor());
    }
    requests[77].wait();
    std::uint64_t notices = 0;
    while (notices < data.size()) {
      const std::uint64_t came = events.wait();
      ASSERT_GT(came, 0u);
      notices += came;
    }
    EXPECT_TRUE(test_all(requests));
    EXPECT_EQ(data, std::vector<int>(200, world.size()));
    world.barrier();
  });
}

int& first_of(int& object) {
  return object;
}
int& first_of(std::array<int, 20'000>& object) {
  return object.front();
}

/// Calls with a small object, and with one that is streamed.
template <class T>
void move_objects(Communicator& world) {
  const Events events;
  T own{};
  first_of(own) = world.rank() + 1;
  auto gathered = objects(world).async().all_gather(own);
  gathered.notify(events.descriptor());
  EXPECT_EQ(events.wait(), 1u);
  EXPECT_TRUE(gathered.test());
  std::vector<T> everything = gathered.wait();
  EXPECT_EQ(first_of(everything.back()), world.size());
  EXPECT_EQ(events.wait(milliseconds{0}), 0u) << "one notice only";
  auto broadcast = objects(world).async().broadcast(own, world.size() - 1);
  broadcast.notify(events.descriptor());
  EXPECT_EQ(events.wait(), 1u);
  own = broadcast.wait();
  EXPECT_EQ(first_of(own), world.size());
  world.barrier();
}

TEST_P(Notices, ComeOfObjects) {
  run([](Communicator& world) {
    move_objects<int>(world);
    move_objects<std::array<int, 20'000>>(world);
  });
}

TEST_P(Notices, ComeOfFailures) {
  if (GetParam().n == 1) GTEST_SKIP() << "a rank alone has no rank that could fail";
  std::latch have_started{GetParam().n - 1};
  run([&](Communicator& world) {
    if (world.rank() == 0) {
      have_started.wait();
      return static_cast<void>(world.async().barrier());  // is dropped
    }
    const Events events;
    std::vector<int> data(10);
    Request request = world.async().all_reduce(data);
    request.notify(events.descriptor());
    have_started.count_down();
    EXPECT_EQ(events.wait(), 1u);
    EXPECT_FALSE(request.try_test());
  });
}

TEST(Notice, OfACallThatHasEndedComesAtOnce) {
  for (const Outcome& outcome : in_world({1, "auto", 1}, [](Communicator& world) {
         const Events events;
         Request none;
         none.notify(events.descriptor());
         Request request = world.async().barrier();
         request.notify(events.descriptor());
         EXPECT_EQ(events.wait(milliseconds{0}), 2u);
         EXPECT_THROW(request.notify(100'000), Error) << "no descriptor";
         const int blocking = ::eventfd(0, EFD_CLOEXEC);
         EXPECT_THROW(request.notify(blocking), Error) << "its writes may block";
         ::close(blocking);
         request.notify(-1);
       }))
    EXPECT_FALSE(outcome.error) << outcome.text();
}

INSTANTIATE_TEST_SUITE_P(Worlds, Notices,
                         testing::Values(Setting{1, "auto", 1}, Setting{2, "auto", 1},
                                         Setting{3, "auto", 1}, Setting{3, "tcp", 1},
                                         Setting{4, "auto", 2}),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace tutti::test
