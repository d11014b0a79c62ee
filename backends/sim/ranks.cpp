// Ranks that may block: each is a thread, and they take turns, so that only one at a time uses the
// network.
#include <algorithm>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include <tutti/spi/communicator.hpp>
#include <tutti/spi/memory.hpp>
#include <tutti/spi/service_thread.hpp>
#include <tutti/testing.hpp>

#include "network.hpp"
#include "random.hpp"
#include "sim_transport.hpp"

namespace tutti::v0::sim {
namespace {

/// Decides which rank runs.
class Turns {
 public:
  Turns(Network& network, int size, std::uint64_t seed)
      : network_{network}, random_{seed}, signals_(static_cast<std::size_t>(size)) {
    for (Rank rank = 0; rank < size; ++rank) present_.push_back(rank);
  }

  /// Waits for the first turn of a rank.
  void enter(Rank rank) {
    std::unique_lock lock{mutex_};
    wait(rank, lock);
  }
  /// Ends a turn in which a poll found nothing, and waits for the next one.
  void pass(Rank rank) {
    std::unique_lock lock{mutex_};
    let_time_pass();
    call_next();
    wait(rank, lock);
  }
  /// Ends the turns of a rank.
  void leave(Rank rank) {
    const std::scoped_lock lock{mutex_};
    std::erase(present_, rank);
    if (turn_ == rank && !present_.empty()) call_next();
  }

 private:
  void wait(Rank rank, std::unique_lock<std::mutex>& lock) {
    signals_[static_cast<std::size_t>(rank)].wait(lock, [&] { return turn_ == rank; });
  }
  void call_next() {
    turn_ = present_[static_cast<std::size_t>(random_.below(present_.size()))];
    signals_[static_cast<std::size_t>(turn_)].notify_one();
  }
  /// Lets an event happen before the next turn, or not, as the seed decides. An engine may do local
  /// work in portions, so all ranks wait for a deadline only if several turns found nothing. Each
  /// jump towards it is longer than the last one, since it may be far away.
  void let_time_pass() {
    const std::uint64_t activity = network_.activity();
    const bool moved = random_.below(2) == 0 && network_.advance();
    if (moved || activity != activity_) jump_ = kFirstJump;
    idle_turns_ = moved || activity != activity_ ? 0 : idle_turns_ + 1;
    activity_ = activity;
    if (idle_turns_ < 16 * present_.size()) return;
    idle_turns_ = 0;
    network_.advance_by(jump_);
    jump_ = std::min(2 * jump_, kLongestJump);
  }

  static constexpr Duration kFirstJump = std::chrono::seconds{1};
  static constexpr Duration kLongestJump = std::chrono::hours{24};
  Network& network_;
  Random random_;
  std::mutex mutex_{};
  std::vector<std::condition_variable> signals_;  // by rank
  std::vector<Rank> present_{};
  Rank turn_ = 0;
  std::uint64_t activity_ = 0;
  std::size_t idle_turns_ = 0;
  Duration jump_ = kFirstJump;
};

/// A transport that passes the turn on if a poll finds nothing.
class TurnTransport final : public SimTransport {
 public:
  TurnTransport(std::shared_ptr<Network> network, Rank self, Turns& turns)
      : SimTransport{std::move(network), self}, turns_{turns} {}
  using Transport::poll;
  void poll() override {
    if (network().is_dead(self()))
      throw Error{
          ErrorCode::peer_dead,
          "rank " + std::to_string(self()) + " is dead: a fault of the simulated cluster killed it",
          self()};
    SimTransport::poll();
    if (completed() == 0) turns_.pass(self());
  }

 private:
  Turns& turns_;
};

/// The end of one rank's function.
struct End {
  std::optional<Error> error{};
  std::exception_ptr other{};  // another exception
};

}  // namespace

std::vector<std::optional<Error>> run_ranks(const ClusterOptions& options,
                                            const std::function<void(Communicator&)>& body,
                                            const CommunicatorOptions& communicator) {
  const auto network = std::make_shared<Network>(options);
  Turns turns{*network, options.size, options.seed};
  const std::shared_ptr<Memory> memory = make_host_memory();
  std::vector<End> ends(static_cast<std::size_t>(options.size));
  const auto run = [&](Rank rank) {
    turns.enter(rank);
    End& end = ends[static_cast<std::size_t>(rank)];
    try {
      network->mark_taken(rank);
      Communicator world = make_communicator(std::make_unique<TurnTransport>(network, rank, turns),
                                             memory, communicator);
      body(world);
    } catch (const Error& error) {
      end.error = error;
    } catch (...) {
      end.other = std::current_exception();
    }
    turns.leave(rank);
  };
  std::vector<std::thread> threads;
  std::exception_ptr no_thread;
  try {
    for (Rank rank = 0; rank < options.size; ++rank)
      threads.push_back(start_thread([&run, rank] { run(rank); }));
  } catch (...) {
    no_thread = std::current_exception();
    for (auto rank = static_cast<Rank>(threads.size()); rank < options.size; ++rank)
      turns.leave(rank);
  }
  for (std::thread& thread : threads) thread.join();
  if (no_thread) std::rethrow_exception(no_thread);
  std::vector<std::optional<Error>> errors;
  for (End& end : ends) {
    if (end.other) std::rethrow_exception(end.other);
    errors.push_back(std::move(end.error));
  }
  return errors;
}

}  // namespace tutti::v0::sim
