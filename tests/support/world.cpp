#include <tutti/spi/communicator.hpp>
#include <tutti/spi/memory.hpp>

#include "world.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

namespace tutti::harness {

World::World(const WorldOptions& options)
    : cluster_{options.cluster}, random_{options.cluster.seed ^ 0x5eed} {
  const auto memory = options.memory ? options.memory : make_host_memory();
  for (Rank rank = 0; rank < options.cluster.size; ++rank) {
    auto transport = cluster_.transport(rank);
    if (options.wrap) transport = options.wrap(std::move(transport));
    communicators_.push_back(make_communicator(
        CommunicatorParts{.transport = std::move(transport), .cost_model = options.cost_model},
        memory, options.communicator));
  }
}

bool World::over(const std::vector<Task>& tasks) const {
  return std::all_of(tasks.begin(), tasks.end(), [this](const Task& task) {
    return task.over() || cluster_.is_dead(task.rank);
  });
}

bool World::sweep(std::vector<Task>& tasks) {
  const std::uint64_t before = cluster_.activity();
  bool ended = false;
  std::vector<std::size_t> order(tasks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[static_cast<std::size_t>(random_.below(i))]);
  for (const std::size_t index : order) {
    Task& task = tasks[index];
    if (task.over() || cluster_.is_dead(task.rank)) continue;
    try {
      task.done = task.test();
    } catch (const Error& error) {
      task.error = error;
    }
    ended = ended || task.over();
  }
  return ended || cluster_.activity() != before;
}

bool World::drive(std::vector<Task>& tasks) {
  // An engine may do local work in portions: only several sweeps without a message are standstill.
  constexpr int kSweepsAtStandstill = 16;
  for (int idle = 0; idle < kSweepsAtStandstill;) {
    if (over(tasks)) return true;
    const bool moved = sweep(tasks) || cluster_.advance();
    idle = moved ? 0 : idle + 1;
  }
  return over(tasks);
}

bool World::drive(std::vector<Task>& tasks, Duration patience) {
  constexpr int kPortions = 64;
  for (int portion = 0; portion < kPortions; ++portion) {
    if (drive(tasks)) return true;
    cluster_.advance_by(patience / kPortions);
  }
  return drive(tasks);
}

Task task_of(Rank rank, Request request) {
  const auto shared = std::make_shared<Request>(std::move(request));
  return {.rank = rank, .test = [shared] { return shared->test(); }};
}

}  // namespace tutti::harness
