// The acceptor: intruders of every kind come and go, and who belongs is let in all the same.
#include "runtime/meeting/acceptor.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <thread>

#include <gtest/gtest.h>

#include "tests/runtime/intruders.hpp"
#include "tests/runtime/ranks.hpp"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;
using namespace tutti::runtime;

Identity party_of_eight(Rank rank) {
  return {.job = 7, .size = 8, .rank = rank, .secret = secret_of(1), .versions = {}};
}

/// Rank 0's acceptor on a port of the loopback and on a Unix socket.
class DoorTest : public ::testing::Test {
 protected:
  void open(AcceptorLimits limits = {}) {
    std::vector<Listener> listeners;
    listeners.push_back({listen_on(loopback()), false});
    port_ = port_of(bound_endpoint(listeners.front().socket.get()));
    listeners.push_back({listen_locally(name_), true});
    acceptor_.emplace(
        party_of_eight(0), std::move(listeners),
        [this](const ConnectionRequest& who) {
          return who.from == 5 ? Reason::duplicate_rank : verdict_;
        },
        limits);
  }

  /// Serves the acceptor until enough peers came.
  void serve(std::size_t accepted) {
    serve_until([&] { return accepted_.size() >= accepted; });
  }
  /// Serves the acceptor for a while, in which it accepts no rank.
  void serve_for(milliseconds time) {
    serve_until([] { return false; }, time);
  }
  /// Serves the acceptor until something is so, or for too long.
  template <class Condition>
  void serve_until(const Condition& is_so, milliseconds time = kAmple) {
    const Deadline end = in(time);
    while (!is_so() && Clock::now() < end) {
      (void)wait_for(acceptor_->descriptor(), POLLIN, std::min(end, acceptor_->next_deadline()));
      acceptor_->progress(accepted_);
    }
  }

  /// Comes as a rank, from another thread.
  std::future<Descriptor> come(Rank rank) {
    return std::async(std::launch::async, [this, rank] {
      return dial(
          party_of_eight(rank),
          {.addresses = {with_port(loopback(), port_)}, .local_name = {}, .peer = "acceptor"},
          in(kAmple));
    });
  }

  std::optional<Acceptor> acceptor_;
  std::vector<AcceptedConnection> accepted_;
  std::uint16_t port_ = 0;
  Reason verdict_ = Reason::none;
  const std::string name_ = "tutti-acceptor-test-" + std::to_string(::getpid());
};

TEST_F(DoorTest, LetsInWhoBelongs) {
  const int before = open_descriptors();
  open();
  auto socket = come(3);
  serve(1);
  ASSERT_EQ(accepted_.size(), 1u);
  EXPECT_EQ(accepted_[0].request, (ConnectionRequest{3, 0, Purpose::store}));
  EXPECT_FALSE(accepted_[0].local);
  const Descriptor connection = socket.get();
  const std::array<std::byte, 3> word{std::byte{1}, std::byte{2}, std::byte{3}};
  send_all(connection.get(), word, in(kAmple));
  std::array<std::byte, 3> heard{};
  receive_all(accepted_[0].socket.get(), heard, in(kAmple));
  EXPECT_EQ(heard, word);
  accepted_.clear();
  acceptor_.reset();
  EXPECT_EQ(open_descriptors(), before + 1);
}

TEST_F(DoorTest, LetsInOverUnix) {
  open();
  auto socket = std::async(std::launch::async, [this] {
    return dial(party_of_eight(2),
                {.local_name = name_, .peer = "acceptor", .purpose = Purpose::local}, in(kAmple));
  });
  serve(1);
  ASSERT_EQ(accepted_.size(), 1u);
  EXPECT_TRUE(accepted_[0].local);
  EXPECT_TRUE(socket.get());
}

TEST_F(DoorTest, DismissesTheSilentAndTheSlow) {
  open({.time_limit = 100ms});
  const Descriptor silent = call(port_);
  const Descriptor slow = call(port_);
  const std::byte one{};
  const Deadline end = in(kAmple);
  std::thread trickle{[&] {  // a byte now and then does not buy more time
    while (::send(slow.get(), &one, 1, MSG_NOSIGNAL) == 1 && Clock::now() < end)
      std::this_thread::sleep_for(10ms);
  }};
  serve_until([&] { return acceptor_->refused(Reason::too_slow) == 2; });
  trickle.join();
  EXPECT_EQ(acceptor_->refused(Reason::too_slow), 2u);
  EXPECT_EQ(acceptor_->refusals_text(), "; refused connections: 2 too slow");
  EXPECT_EQ(acceptor_->next_deadline(), Deadline::max());
}

TEST_F(DoorTest, CountsWhatItRefuses) {
  open();
  for (int i = 0; i < 3; ++i) (void)call(port_);  // port scans
  const Descriptor garbage = call(port_);
  send_all(garbage.get(), std::vector<std::byte>(500, std::byte{'G'}), in(kAmple));
  Identity intruder = party_of_eight(1);
  intruder.job = 9;
  EXPECT_EQ(acceptor_->refused(Reason::wrong_job), 0u);
  auto other = std::async(std::launch::async, [&] {
    return dial(intruder, {.addresses = {with_port(loopback(), port_)}, .peer = "acceptor"},
                in(kAmple));
  });
  auto twin = come(5);
  serve_until([&] {
    return acceptor_->refused(Reason::closed) >= 3 && acceptor_->refused(Reason::not_tutti) >= 1 &&
           acceptor_->refused(Reason::wrong_job) >= 1 &&
           acceptor_->refused(Reason::duplicate_rank) >= 1;
  });
  EXPECT_THROW((void)other.get(), Error);
  EXPECT_THROW((void)twin.get(), Error);
  EXPECT_EQ(acceptor_->refused(Reason::closed), 3u);
  EXPECT_EQ(acceptor_->refused(Reason::not_tutti), 1u);
  EXPECT_EQ(acceptor_->refused(Reason::wrong_job), 1u);
  EXPECT_EQ(acceptor_->refused(Reason::duplicate_rank), 1u);
}

TEST_F(DoorTest, KeepsNoMoreThanItsLimitOfStrangers) {
  open({.time_limit = kAmple, .most_peers = 8});
  const int before = open_descriptors();
  std::vector<Descriptor> crowd;
  for (int i = 0; i < 100; ++i) crowd.push_back(call(port_));
  serve_until([&] { return acceptor_->refused(Reason::crowded_out) >= 92; });
  EXPECT_EQ(open_descriptors(), before + 100 + 8);
  EXPECT_EQ(acceptor_->refused(Reason::crowded_out), 92u);
  auto socket = come(1);
  serve(1);
  EXPECT_EQ(accepted_.size(), 1u);
  EXPECT_TRUE(socket.get());
}

TEST_F(DoorTest, LetsInWhoBelongsDuringAFlood) {
  open();
  std::atomic<bool> over{false};
  std::thread flood{[&] {
    for (unsigned seed = 0; !over; ++seed) (void)disturb({port_, {}}, seed);
  }};
  std::vector<std::future<Descriptor>> sockets;
  for (Rank rank = 1; rank <= 4; ++rank) sockets.push_back(come(rank));
  serve(4);
  over = true;
  flood.join();
  EXPECT_EQ(accepted_.size(), 4u);
  for (auto& socket : sockets) EXPECT_TRUE(socket.get());
}

TEST_F(DoorTest, SurvivesThatNothingMoreCanBeOpened) {
  open();
  std::vector<Descriptor> callers;
  for (int i = 0; i < 5; ++i) callers.push_back(call(port_));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const Descriptor lowest_free{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
  rlimit tight = before;
  tight.rlim_cur = static_cast<rlim_t>(lowest_free.get()) + 1;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &tight), 0);
  serve_until([&] { return acceptor_->refused(Reason::no_descriptor) >= 1; });
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_GE(acceptor_->refused(Reason::no_descriptor), 1u);
  callers.clear();
  auto socket = come(1);
  serve(1);
  EXPECT_EQ(accepted_.size(), 1u);
  EXPECT_TRUE(socket.get());
}

TEST_F(DoorTest, TakesTwoShortShortagesForNoLongOne) {
  open();
  for (int moment = 0; moment < 2; ++moment) {
    const Descriptor caller = call(port_);
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    const Descriptor lowest_free{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
    rlimit tight = before;
    tight.rlim_cur = static_cast<rlim_t>(lowest_free.get()) + 1;
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &tight), 0);
    EXPECT_NO_THROW(serve_for(100ms)) << "moment " << moment;
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    if (moment == 0) serve_for(700ms);  // no rank connects
  }
  auto socket = come(1);
  serve(1);
  EXPECT_TRUE(socket.get());
}

TEST_F(DoorTest, SaysThatNothingMoreCanBeOpenedIfThatLasts) {
  open();
  const Descriptor caller = call(port_);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit tight = before;
  tight.rlim_cur = 3;  // also what is closed now cannot be opened again
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &tight), 0);
  std::exception_ptr thrown;  // which sanitizers can look at only with descriptors
  const auto start = Clock::now();
  try {
    serve(1);
  } catch (...) {
    thrown = std::current_exception();
  }
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_TRUE(thrown);
  std::string said;
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& error) {
    said = error.what();
  }
  EXPECT_TRUE(said.starts_with("this process has no file descriptors left: raise `ulimit -n`"))
      << said;
  EXPECT_LT(Clock::now() - start, kLongBefore);
}

}  // namespace
}  // namespace tutti::test
