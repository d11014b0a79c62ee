/// @file
/// Communicators on a simulated cluster, and a loop that drives them all from one thread.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include <tutti/communicator.hpp>
#include <tutti/spi/costs.hpp>
#include <tutti/testing.hpp>

#include "backends/sim/random.hpp"

namespace tutti::harness {

/// Something pending on one rank.
struct Task {
  Rank rank = 0;                 ///< The rank. Tasks of dead ranks do not run.
  std::function<bool()> test{};  ///< Makes progress. @return whether it is done. May throw Error.
  bool done = false;             ///< Whether it succeeded.
  std::optional<Error> error{};  ///< How it failed, if it did.

  /// @return whether nothing is left to do.
  [[nodiscard]] bool over() const noexcept { return done || error.has_value(); }
};

/// How a world is made.
struct WorldOptions {
  sim::ClusterOptions cluster{};       ///< The cluster underneath.
  CommunicatorOptions communicator{};  ///< As given to Communicator::create.
  std::shared_ptr<Memory> memory{};    ///< Null: one of its own.
  CostModel cost_model{};              ///< The costs for choices of algorithms.
  /// May put a transport of the test's own around each rank's; null: none.
  std::function<std::unique_ptr<Transport>(std::unique_ptr<Transport>)> wrap{};
};

/// All ranks of a communicator in one thread.
class World {
 public:
  /// @param options see WorldOptions.
  explicit World(const WorldOptions& options);
  /// @param size number of ranks. @param seed of the cluster; an odd one has combiners, every other
  /// pair of them visible memory.
  explicit World(int size, std::uint64_t seed = 1)
      : World{WorldOptions{.cluster = {.size = size,
                                       .seed = seed,
                                       .scribble = true,
                                       .combines = seed % 2 == 1,
                                       .visible = seed % 4 >= 2}}} {}

  /// @return the number of ranks.
  [[nodiscard]] int size() const noexcept { return static_cast<int>(communicators_.size()); }
  /// @param rank in [0, size()). @return its communicator.
  [[nodiscard]] Communicator& operator[](Rank rank) {
    return communicators_[static_cast<std::size_t>(rank)];
  }
  /// @return the cluster underneath.
  [[nodiscard]] sim::Cluster& cluster() noexcept { return cluster_; }

  /// Tests all tasks in an order that the seed decides, and lets time pass when nothing moves.
  /// @param tasks what is pending. @return whether all tasks of living ranks are over; false means
  /// that they would wait forever.
  bool drive(std::vector<Task>& tasks);
  /// As drive, and lets deadlines pass where nothing else can happen. @param tasks what is pending.
  /// @param patience how long, in virtual time. @return as drive.
  bool drive(std::vector<Task>& tasks, Duration patience);
  /// One round of tests, without moving the clock. @param tasks what is pending.
  /// @return whether a message was posted or collected, or a task ended.
  bool sweep(std::vector<Task>& tasks);

 private:
  [[nodiscard]] bool over(const std::vector<Task>& tasks) const;

  sim::Cluster cluster_;
  sim::Random random_;
  std::vector<Communicator> communicators_{};
};

/// @param rank whose. @param request kept alive by the task. @return a task that tests it.
[[nodiscard]] Task task_of(Rank rank, Request request);

}  // namespace tutti::harness
