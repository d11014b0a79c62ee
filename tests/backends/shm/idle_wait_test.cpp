// Ranks that outnumber the cores sleep where they wait, and are woken.
#include <chrono>
#include <thread>

#include "pair.hpp"
#include "tests/support/patience.hpp"

namespace tutti::shm {
namespace {

using std::chrono::steady_clock;

// Longer than any of these tests, even on a busy machine, so that a missing wake shows.
constexpr std::chrono::seconds kLong = 2 * test::kAmple;

Host crowded() {
  return Host{2, {.oversubscribed = true, .idle_wait = kLong}};
}

/// Waits for some completions, asleep whenever there is nothing to do.
void await(Transport& transport, std::size_t count) {
  std::array<Completion, 4> completions{};
  while (true) {
    const std::size_t got = transport.poll(completions);
    count -= std::min(got, count);
    if (count == 0) return;
    transport.idle_wait();
  }
}

/// Sends `bytes` there and back repeatedly.
void ping_pong(Host host, std::size_t bytes, int trips) {
  const auto play = [&](Rank rank) {
    const auto transport = host.transport(rank);
    transport->expect_idle_waits();
    std::vector<std::byte> data(bytes);
    const Piece piece{data.data(), bytes};
    const auto first = rank == 0 ? Transfer::Kind::send : Transfer::Kind::recv;
    const auto second = rank == 0 ? Transfer::Kind::recv : Transfer::Kind::send;
    for (int i = 0; i < trips; ++i) {
      post(*transport, first, {&piece, 1});
      await(*transport, 1);
      post(*transport, second, {&piece, 1});
      await(*transport, 1);
    }
  };
  const auto start = steady_clock::now();
  std::thread other{[&] { play(1); }};
  play(0);
  other.join();
  EXPECT_LT(steady_clock::now() - start, kLong);
}

TEST(ShmIdleWait, AMessageWakes) {
  ping_pong(crowded(), 8, 1000);
}

// A wake between a rank's last poll and its sleep would be lost otherwise.
TEST(ShmIdleWait, WhoIsAboutToSleepIsKeptAwake) {
  Host host = crowded();
  const auto sender = host.transport(0);
  const auto receiver = host.transport(1);
  Entry* const entry = find_entry(front_of(host.segment(1).mapping()), 1);
  ASSERT_NE(entry, nullptr);
  entry->asleep = 1;
  std::array<std::byte, 8> data{};
  const Piece piece{data.data(), data.size()};
  post(*sender, Transfer::Kind::send, {&piece, 1});
  EXPECT_EQ(entry->asleep, 0u);
}

// One rank may share its core with other programs.
TEST(ShmIdleWait, ARankThatNeverSleepsWakesOneThatDoes) {
  Host host{2, {.oversubscribed = false, .idle_wait = kLong}};
  const auto sender = host.transport(0);
  const auto receiver = host.transport(1);
  Entry* const entry = find_entry(front_of(host.segment(1).mapping()), 1);
  ASSERT_NE(entry, nullptr);
  receiver->expect_idle_waits();
  std::array<std::byte, 8> data{};
  const Piece piece{data.data(), data.size()};
  for (int i = 0; i < 2; ++i) {
    entry->asleep = 1;
    post(*sender, Transfer::Kind::send, {&piece, 1});
    EXPECT_EQ(entry->asleep, 0u);
  }
}

TEST(ShmIdleWait, APieceThatWasReadWakes) {
  for (const bool oversubscribed : {true, false})
    ping_pong(Host{2, {.oversubscribed = oversubscribed, .idle_wait = kLong}},
              std::size_t{16} << 20, 5);
}

TEST(ShmIdleWait, AReceiverSleepsWhileTheSenderCopies) {
  constexpr std::chrono::milliseconds kShort{20};
  Host host{2, {.oversubscribed = false, .idle_wait = kShort}};
  const auto sender = host.transport(0);
  const auto receiver = host.transport(1);
  receiver->expect_idle_waits();
  std::vector<std::byte> data(std::size_t{4} << 20);
  std::vector<std::byte> received(data.size());
  const Piece from{data.data(), data.size()};
  const Piece to{received.data(), received.size()};
  post(*sender, Transfer::Kind::send, {&from, 1});
  post(*receiver, Transfer::Kind::recv, {&to, 1});
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(completed(*receiver, 1), 0u);
  const auto start = steady_clock::now();
  receiver->idle_wait();
  EXPECT_GE(steady_clock::now() - start, kShort);
  while (completed(*receiver, 1) == 0) sender->poll();
}

TEST(ShmIdleWait, ASenderGoesOnAsLongAsThereIsRoom) {
  constexpr std::size_t kMore = std::size_t{4} << 20;
  for (const std::size_t more : {std::size_t{0}, kMore}) {
    Host host = crowded();
    const auto sender = host.transport(0);
    const auto receiver = host.transport(1);
    std::vector<std::uint8_t> data(longest_buffered(2) + more);
    std::iota(data.begin(), data.end(), std::uint8_t{1});
    std::vector<std::uint8_t> received(data.size());
    const Piece from{reinterpret_cast<std::byte*>(data.data()), data.size()};
    const Piece to{reinterpret_cast<std::byte*>(received.data()), received.size()};
    post(*sender, Transfer::Kind::send, {&from, 1});
    const std::size_t early = completed(*sender);
    EXPECT_EQ(early, more == 0 ? 1u : 0u);
    post(*receiver, Transfer::Kind::recv, {&to, 1});
    std::size_t done = early;
    for (int i = 0; i < 100 && done < 2; ++i)
      done += completed(*receiver, 1) + completed(*sender, 1);
    EXPECT_EQ(done, 2u);
    EXPECT_EQ(received, data);
  }
}

TEST(ShmIdleWait, WithSomethingToDoNobodySleeps) {
  Host host = crowded();
  const auto sender = host.transport(0);
  const auto receiver = host.transport(1);
  std::array<std::byte, 8> data{};
  const Piece piece{data.data(), data.size()};
  post(*receiver, Transfer::Kind::recv, {&piece, 1});
  EXPECT_EQ(completed(*receiver, 1), 0u);
  post(*sender, Transfer::Kind::send, {&piece, 1});
  const auto start = steady_clock::now();
  receiver->idle_wait();
  EXPECT_LT(steady_clock::now() - start, kLong);
  EXPECT_EQ(completed(*receiver, 1), 1u);
}

}  // namespace
}  // namespace tutti::shm
