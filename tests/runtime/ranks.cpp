#include "tests/runtime/ranks.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>

#include <gtest/gtest.h>

#include "runtime/sockets/missing_ranks.hpp"

namespace tutti::test {
namespace {

/// The shared state of a local channel's ranks: each writes, and the last one turns the page.
struct Board {
  explicit Board(int n) : said(static_cast<std::size_t>(n)) {}
  std::mutex mutex{};
  std::condition_variable turned{};
  std::vector<std::optional<std::string>> said;
  std::vector<std::string> page{};
  unsigned round = 0;
};

class LocalChannel final : public Channel {
 public:
  LocalChannel(Rank rank, bool is_private, std::shared_ptr<Board> board)
      : rank_{rank}, is_private_{is_private}, board_{std::move(board)} {}

  [[nodiscard]] Rank rank() const noexcept override { return rank_; }
  [[nodiscard]] int size() const noexcept override { return static_cast<int>(board_->said.size()); }
  [[nodiscard]] std::string describe() const override { return "threads of a test"; }
  [[nodiscard]] bool is_private() const noexcept override { return is_private_; }
  [[nodiscard]] std::vector<std::string> all_gather(std::string_view own,
                                                    Deadline deadline) override {
    const auto start = Clock::now();
    std::unique_lock lock{board_->mutex};
    board_->said[static_cast<std::size_t>(rank_)] = std::string{own};
    const unsigned round = board_->round;
    if (std::ranges::all_of(board_->said, [](const auto& text) { return text.has_value(); })) {
      board_->page.clear();
      for (auto& text : board_->said) board_->page.push_back(*std::exchange(text, std::nullopt));
      ++board_->round;
      board_->turned.notify_all();
      return board_->page;
    }
    if (board_->turned.wait_until(lock, deadline, [&] { return board_->round != round; }))
      return board_->page;
    runtime::MissingRanks known{
        .self = rank_, .waited = Clock::now() - start, .missing = {}, .hosts = {}};
    for (std::size_t rank = 0; rank < board_->said.size(); ++rank) {
      known.hosts.emplace_back();
      if (!board_->said[rank]) known.missing.push_back(static_cast<Rank>(rank));
    }
    throw Error{runtime::missing_ranks(known)};
  }

 private:
  Rank rank_;
  bool is_private_;
  std::shared_ptr<Board> board_;
};

}  // namespace

std::vector<Outcome> run_ranks(int n, const std::function<void(Rank)>& body) {
  std::vector<Outcome> outcomes(static_cast<std::size_t>(n));
  std::vector<std::thread> threads;
  for (Rank rank = 0; rank < n; ++rank)
    threads.emplace_back([&, rank] {
      Outcome& outcome = outcomes[static_cast<std::size_t>(rank)];
      const auto start = Clock::now();
      try {
        body(rank);
      } catch (const Error& error) {
        outcome.error = error;
      }
      outcome.elapsed = std::chrono::duration_cast<milliseconds>(Clock::now() - start);
    });
  for (std::thread& thread : threads) thread.join();
  return outcomes;
}

void expect_no_error(const std::vector<Outcome>& outcomes) {
  for (const Outcome& outcome : outcomes) EXPECT_EQ(outcome.text(), "");
}

runtime::Descriptor memory_of(Rank rank) {
  runtime::Descriptor memory{::memfd_create("tutti-test", MFD_CLOEXEC)};
  EXPECT_EQ(::pwrite(memory.get(), &rank, sizeof rank, 0), ssize_t{sizeof rank});
  return memory;
}

int open_descriptors() {
  int count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator{"/proc/self/fd"})
    ++count;
  return count;
}

long resident_kib() {
  if (TUTTI_INSTRUMENTED) return 0;
  long total = 0;
  long resident = 0;
  std::ifstream{"/proc/self/statm"} >> total >> resident;
  return resident * ::sysconf(_SC_PAGESIZE) / 1024;
}

Deadline in(milliseconds time) {
  return Clock::now() + time;
}

std::optional<runtime::Secret> secret_of(int seed) {
  if (!runtime::has_cryptography()) return {};
  runtime::Digest bytes;
  bytes.fill(static_cast<std::byte>(seed));
  return runtime::Secret{bytes};
}

std::vector<std::unique_ptr<Channel>> local_channels(int n, bool is_private) {
  auto board = std::make_shared<Board>(n);
  std::vector<std::unique_ptr<Channel>> channels;
  for (Rank rank = 0; rank < n; ++rank)
    channels.push_back(std::make_unique<LocalChannel>(rank, is_private, board));
  return channels;
}

}  // namespace tutti::test
