// How the hybrid transport treats its parts, which are scripted here.
#include <thread>

#include <gtest/gtest.h>

#include "backends/hybrid/hybrid.hpp"

namespace tutti::hybrid {
namespace {

using namespace std::chrono_literals;

/// Does nothing by itself, and remembers what it was asked.
class Part final : public Transport {
 public:
  explicit Part(Capabilities capabilities, int size = 4)
      : capabilities_{std::move(capabilities)}, size_{size} {}

  [[nodiscard]] Rank self() const noexcept override { return 0; }
  [[nodiscard]] int size() const noexcept override { return size_; }
  [[nodiscard]] const Capabilities& capabilities() const noexcept override { return capabilities_; }
  [[nodiscard]] Duration now() const noexcept override {
    return std::chrono::steady_clock::now().time_since_epoch();
  }
  void post(std::span<const Transfer> transfers) override {
    if (failure) throw Error{*failure};
    ++posts;
    for (const Transfer& transfer : transfers) cookies.push_back(transfer.cookie);
  }
  void poll() override {
    ++polls;
    if (failure) throw Error{*failure};
    for (std::size_t i = 0; i < ready; ++i) complete(cookies[i]);
    ready = 0;
  }
  void idle_wait() override { ++waits_idle; }
  bool abort(const Error& /*cause*/) noexcept override {
    ++aborts;
    return is_quiet;
  }

  std::optional<Error> failure{};        // what it throws from now on
  std::size_t ready = 0;                 // completions it has
  std::vector<std::uint64_t> cookies{};  // posted
  int posts = 0;
  int polls = 0;
  int waits_idle = 0;
  int aborts = 0;
  bool is_quiet = true;

 private:
  Capabilities capabilities_;
  int size_;
};

/// @return them, as Parts has them.
template <class... Remote>
std::vector<std::unique_ptr<Transport>> transports(Remote... remote) {
  std::vector<std::unique_ptr<Transport>> all;
  (all.push_back(std::move(remote)), ...);
  return all;
}

/// Rank 0, which shares its host with rank 2 of four.
class Hybrid : public ::testing::Test {
 protected:
  Hybrid() {
    auto near = std::make_unique<Part>(
        Capabilities{.name = "near", .tags = 1000, .combines = true, .idle_spins = 20000});
    auto far = std::make_unique<Part>(
        Capabilities{.name = "far", .tags = 500, .combines = true, .idle_spins = 1000});
    near_ = near.get();
    far_ = far.get();
    transport_ = make_transport({.local = std::move(near),
                                 .remote = transports(std::move(far)),
                                 .is_local = {true, false, true, false},
                                 .failure_signal = failure_signal_});
  }
  void post(std::initializer_list<Rank> peers) {
    std::vector<Transfer> transfers;
    for (const Rank peer : peers)
      transfers.push_back({.kind = Transfer::Kind::recv, .peer = peer, .cookie = ++cookies_});
    transport_->post(transfers);
  }
  std::size_t poll() { return transport_->poll(completions_); }
  /// Polls until it throws. @return what, and after how many milliseconds.
  std::pair<Error, std::chrono::milliseconds> poll_until_error() {
    const auto start = std::chrono::steady_clock::now();
    try {
      for (;;) static_cast<void>(poll());
    } catch (const Error& error) {
      return {error, std::chrono::duration_cast<std::chrono::milliseconds>(
                         std::chrono::steady_clock::now() - start)};
    }
  }

  std::shared_ptr<FailureSignal> failure_signal_ = std::make_shared<FailureSignal>();
  Part* near_ = nullptr;
  Part* far_ = nullptr;
  std::unique_ptr<Transport> transport_;
  std::array<Completion, 4> completions_{};
  std::uint64_t cookies_ = 0;
};

TEST_F(Hybrid, CanWhatBothCan) {
  const Capabilities& capabilities = transport_->capabilities();
  EXPECT_EQ(capabilities.name, "near+far");
  EXPECT_EQ(capabilities.tags, 500U);
  EXPECT_TRUE(capabilities.combines);
  EXPECT_EQ(capabilities.idle_spins, 1000);
}

TEST_F(Hybrid, WaitsAsItsLocalPartWhereAllRanksAreLocal) {
  const auto transport = make_transport({.local = std::make_unique<Part>(Capabilities{
                                             .name = "part", .tags = 9, .idle_spins = 20000}),
                                         .remote = transports(std::make_unique<Part>(Capabilities{
                                             .name = "part", .tags = 9, .idle_spins = 1000})),
                                         .is_local = {true, true, true, true},
                                         .failure_signal = failure_signal_});
  EXPECT_EQ(transport->capabilities().idle_spins, 20000);
}

TEST_F(Hybrid, IsMadeOfPartsThatAgree) {
  const auto make = [&](int local, int remote, std::vector<bool> is_local) {
    return make_transport(
        {.local = std::make_unique<Part>(Capabilities{.name = "part"}, local),
         .remote = transports(std::make_unique<Part>(Capabilities{.name = "part"}, remote)),
         .is_local = std::move(is_local),
         .failure_signal = failure_signal_});
  };
  EXPECT_NO_THROW(static_cast<void>(make(2, 2, {true, false})));
  EXPECT_THROW(static_cast<void>(make(2, 3, {true, false})), Error);
  EXPECT_THROW(static_cast<void>(make(2, 2, {true, false, true})), Error);
  EXPECT_THROW(static_cast<void>(make(2, 2, {false, true})), Error);  // the own rank
}

TEST_F(Hybrid, KeepsRunsOfTransfersTogetherAndInOrder) {
  post({0, 2, 1, 3, 1, 2});
  EXPECT_EQ(near_->cookies, (std::vector<std::uint64_t>{1, 2, 6}));
  EXPECT_EQ(far_->cookies, (std::vector<std::uint64_t>{3, 4, 5}));
  EXPECT_EQ(near_->posts, 2);
  EXPECT_EQ(far_->posts, 1);
  EXPECT_THROW(post({4}), Error);
}

TEST_F(Hybrid, AsksTheNetworkWhereItWaitsForIt) {
  post({2});
  for (int i = 0; i < 640; ++i) static_cast<void>(poll());
  EXPECT_EQ(near_->polls, 640);
  EXPECT_EQ(far_->polls, 10);  // for others
  post({1});
  for (int i = 0; i < 64; ++i) static_cast<void>(poll());
  EXPECT_EQ(far_->polls, 74);
  far_->ready = 1;
  EXPECT_EQ(poll(), 1U);
  for (int i = 0; i < 64; ++i) static_cast<void>(poll());
  EXPECT_EQ(far_->polls, 76);
}

// Asleep in one part a thread sees nothing of the other.
TEST_F(Hybrid, SleepsOnlyWhereItExpectsNothingElsewhere) {
  post({2});
  transport_->idle_wait();
  EXPECT_EQ(near_->waits_idle, 1);
  static_cast<void>(poll());
  EXPECT_EQ(far_->polls, 1);  // for others, who had to wait meanwhile
  post({1});
  transport_->idle_wait();
  EXPECT_EQ(near_->waits_idle, 1);
  EXPECT_EQ(far_->waits_idle, 0);
  near_->ready = 1;
  EXPECT_EQ(poll(), 1U);
  transport_->idle_wait();
  EXPECT_EQ(near_->waits_idle, 1);
  EXPECT_EQ(far_->waits_idle, 1);
}

TEST_F(Hybrid, LetsNeitherPartStarveTheOther) {
  for (int i = 0; i < 40; ++i) post({2, 1});
  for (int i = 0; i < 10; ++i) {
    near_->ready = 4;  // as many as a poll takes
    EXPECT_EQ(poll(), 4U);
  }
  EXPECT_GE(far_->polls, 3);
  const int before = near_->polls;
  for (int i = 0; i < 10; ++i) {
    near_->ready = 0;
    far_->ready = 4;
    EXPECT_EQ(poll(), 4U);
  }
  EXPECT_GE(near_->polls, before + 3);
}

TEST_F(Hybrid, MovesBothWithoutRoomForCompletions) {
  post({1});
  EXPECT_EQ(transport_->poll({}), 0U);
  EXPECT_EQ(near_->polls, 1);
  EXPECT_EQ(far_->polls, 1);
}

TEST_F(Hybrid, StaysFailed) {
  far_->failure = Error{ErrorCode::mismatch, "lengths differ", 1};
  EXPECT_EQ(poll_until_error().first.code(), ErrorCode::mismatch);
  far_->failure.reset();
  EXPECT_THROW(post({0}), Error);
  EXPECT_THROW(post({1}), Error);
  EXPECT_THROW(static_cast<void>(poll()), Error);
}

TEST_F(Hybrid, StaysFailedWhereAPostFailed) {
  far_->failure = Error{ErrorCode::transport, "no memory", 0};
  EXPECT_THROW(post({1}), Error);
  far_->failure.reset();
  EXPECT_THROW(post({2}), Error);
  EXPECT_THROW(static_cast<void>(poll()), Error);
}

TEST_F(Hybrid, LeavesItToControlToSayWhoDied) {
  post({1});
  far_->failure = Error{ErrorCode::peer_dead, "rank 3 closed its connection", 3};
  EXPECT_EQ(poll(), 0U);
  failure_signal_->set_cause({ErrorCode::peer_dead, "rank 1 has ended", 1});
  EXPECT_STREQ(poll_until_error().first.what(), "rank 1 has ended");
}

TEST_F(Hybrid, SaysItselfWhoIsGoneWhereControlDoesNot) {
  post({1});
  far_->failure = Error{ErrorCode::peer_dead, "rank 3 closed its connection", 3};
  const auto [error, time] = poll_until_error();
  EXPECT_EQ(error.culprit(), 3);
  EXPECT_GE(time, 20ms);
  EXPECT_THROW(static_cast<void>(poll()), Error);
}

TEST_F(Hybrid, AbortsBoth) {
  near_->is_quiet = false;
  EXPECT_FALSE(transport_->abort({ErrorCode::timeout, "late"}));
  near_->is_quiet = true;
  far_->is_quiet = false;
  EXPECT_FALSE(transport_->abort({ErrorCode::timeout, "late"}));
  EXPECT_EQ(near_->aborts, 2);
  EXPECT_EQ(far_->aborts, 2);
}

/// As Hybrid, with two routes to the other hosts.
class TwoWays : public Hybrid {
 protected:
  TwoWays() {
    auto near = std::make_unique<Part>(Capabilities{.name = "near", .tags = 900});
    auto far = std::make_unique<Part>(Capabilities{.name = "far", .tags = 500, .idle_spins = 70});
    auto wide = std::make_unique<Part>(Capabilities{.name = "wide", .tags = 600, .idle_spins = 50});
    near_ = near.get();
    far_ = far.get();
    wide_ = wide.get();
    transport_ = make_transport({.local = std::move(near),
                                 .remote = transports(std::move(far), std::move(wide)),
                                 .is_local = {true, false, true, false},
                                 .failure_signal = failure_signal_});
  }
  void post_by(std::uint8_t route, std::initializer_list<Rank> peers) {
    std::vector<Transfer> transfers;
    for (const Rank peer : peers)
      transfers.push_back(
          {.kind = Transfer::Kind::recv, .peer = peer, .cookie = ++cookies_, .route = route});
    transport_->post(transfers);
  }

  Part* wide_ = nullptr;
};

TEST_F(TwoWays, AreNamedAndCanWhatAllCan) {
  const Capabilities& capabilities = transport_->capabilities();
  EXPECT_EQ(capabilities.name, "near+far|wide");
  EXPECT_EQ(capabilities.transports, (std::vector<std::string>{"near+far", "near+wide"}));
  EXPECT_EQ(capabilities.tags, 500U);
  EXPECT_EQ(capabilities.idle_spins, 50);
}

TEST_F(TwoWays, AreTakenAsTransfersSay) {
  post_by(0, {1, 2});
  post_by(1, {0, 3, 1});
  EXPECT_EQ(near_->cookies, (std::vector<std::uint64_t>{2, 3}));
  EXPECT_EQ(far_->cookies, (std::vector<std::uint64_t>{1}));
  EXPECT_EQ(wide_->cookies, (std::vector<std::uint64_t>{4, 5}));
  EXPECT_THROW(post_by(2, {1}), Error);
}

TEST_F(TwoWays, AreAskedWhereSomethingIsExpected) {
  post_by(1, {1});
  for (int i = 0; i < 64; ++i) static_cast<void>(poll());
  EXPECT_EQ(wide_->polls, 64);
  EXPECT_EQ(far_->polls, 1);  // for others
  wide_->ready = 1;
  EXPECT_EQ(poll(), 1U);
  for (int i = 0; i < 64; ++i) static_cast<void>(poll());
  EXPECT_EQ(wide_->polls, 66);
  EXPECT_EQ(far_->polls, 2);
}

TEST_F(TwoWays, SleepsInTheOnlyOneItExpectsSomethingOf) {
  post_by(1, {1});
  transport_->idle_wait();
  EXPECT_EQ(wide_->waits_idle, 1);
  post_by(0, {1});
  transport_->idle_wait();
  EXPECT_EQ(near_->waits_idle + far_->waits_idle, 0);
  EXPECT_EQ(wide_->waits_idle, 1);
  wide_->ready = 1;
  EXPECT_EQ(poll(), 1U);
  transport_->idle_wait();
  EXPECT_EQ(far_->waits_idle, 1);
}

TEST_F(TwoWays, FailAndEndAsOne) {
  wide_->failure = Error{ErrorCode::mismatch, "lengths differ", 1};
  post_by(0, {1});
  EXPECT_THROW(post_by(1, {1}), Error);
  EXPECT_THROW(post_by(0, {1}), Error);
  wide_->is_quiet = false;
  EXPECT_FALSE(transport_->abort({ErrorCode::timeout, "late"}));
  EXPECT_EQ(near_->aborts + far_->aborts + wide_->aborts, 3);
}

}  // namespace
}  // namespace tutti::hybrid
