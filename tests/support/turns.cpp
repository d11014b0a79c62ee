#include <tutti/spi/communicator.hpp>
#include <tutti/spi/memory.hpp>

#include "turns.hpp"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "backends/sim/random.hpp"
#include "wrapper.hpp"

namespace tutti::harness {
namespace {

/// Whose turn it is.
class Turns {
 public:
  Turns(sim::Cluster& cluster, int size, std::uint64_t seed)
      : cluster_{cluster}, random_{seed}, seats_(static_cast<std::size_t>(size)) {
    for (Rank rank = 0; rank < size; ++rank) present_.push_back(rank);
  }

  /// Waits for the first turn.
  void enter(Rank rank) {
    std::unique_lock lock{mutex_};
    wait(rank, lock);
  }
  /// Lets another rank go on, and waits for the next turn.
  void pass(Rank rank) {
    std::unique_lock lock{mutex_};
    let_time_pass();
    call_next();
    wait(rank, lock);
  }
  /// Ends the last turn.
  void leave(Rank rank) {
    const std::scoped_lock lock{mutex_};
    std::erase(present_, rank);
    if (!present_.empty()) call_next();
  }

 private:
  void wait(Rank rank, std::unique_lock<std::mutex>& lock) {
    seats_[static_cast<std::size_t>(rank)].wait(lock, [&] { return turn_ == rank; });
  }
  void call_next() {
    turn_ = present_[static_cast<std::size_t>(random_.below(present_.size()))];
    seats_[static_cast<std::size_t>(turn_)].notify_one();
  }
  /// The seed decides whether something happens before the next turn. An engine may do local work
  /// in portions: only where turns brought nothing several times do all ranks wait, for a deadline.
  void let_time_pass() {
    const std::uint64_t activity = cluster_.activity();
    const bool moved = random_.below(2) == 0 && cluster_.advance();
    idle_turns_ = moved || activity != activity_ ? 0 : idle_turns_ + 1;
    activity_ = activity;
    if (idle_turns_ < 16 * present_.size()) return;
    idle_turns_ = 0;
    cluster_.advance_by(std::chrono::seconds{1});
  }

  sim::Cluster& cluster_;
  sim::Random random_;
  std::mutex mutex_{};
  std::vector<std::condition_variable> seats_;
  std::vector<Rank> present_{};
  Rank turn_ = 0;
  std::uint64_t activity_ = 0;
  std::size_t idle_turns_ = 0;
};

/// Passes the turn on where a poll brings nothing.
class Polite final : public Wrapper {
 public:
  Polite(std::unique_ptr<Transport> inner, Turns& turns)
      : Wrapper{std::move(inner)}, turns_{turns} {}
  void poll() override {
    Wrapper::poll();
    if (completed() == 0) turns_.pass(self());
  }

 private:
  Turns& turns_;
};

}  // namespace

std::vector<std::string> run_in_turns(const sim::ClusterOptions& options,
                                      const std::function<void(Communicator&)>& body) {
  sim::Cluster cluster{options};
  Turns turns{cluster, options.size, options.seed};
  const auto memory = make_host_memory();
  std::vector<std::string> errors(static_cast<std::size_t>(options.size));
  std::vector<std::thread> threads{};
  for (Rank rank = 0; rank < options.size; ++rank)
    threads.emplace_back([&, rank] {
      turns.enter(rank);
      try {
        Communicator world =
            make_communicator(std::make_unique<Polite>(cluster.transport(rank), turns), memory);
        body(world);
      } catch (const Error& error) {
        errors[static_cast<std::size_t>(rank)] = error.what();
      }
      turns.leave(rank);
    });
  for (std::thread& thread : threads) thread.join();
  return errors;
}

}  // namespace tutti::harness
