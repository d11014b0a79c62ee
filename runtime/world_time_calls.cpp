#include "world_time_calls.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tutti/communicator.hpp>
#include <tutti/spi/communicator.hpp>

#include "fields.hpp"
#include "selector/timed_calls.hpp"
#include "time_calls.hpp"
#include "timed_calls_file.hpp"

namespace tutti::runtime {
namespace {

/// Deadline of one call: a rank that stops must not keep the others from starting.
constexpr std::chrono::seconds kPatienceWithCalls{1};

/// @return whether a table has times of as many ranks of one host.
bool has_times(const detail::SharedConfig& shared_config, int ranks) {
  if (!shared_config.timed) return false;
  const detail::TunedTable* const known =
      detail::find_timed(*shared_config.timed,
                         {.collective = Collective::barrier, .ranks = ranks, .transport = "shm"});
  return known != nullptr && known->place.ranks == ranks;
}

/// Collective among the members. @return the times; without any, why.
TimedCalls timed_among(World& world, const std::vector<Rank>& members) {
  try {
    Communicator group =
        world.start_communicator(members, World::StartStep::time_calls, kPatienceWithCalls);
    return time_calls(group);
  } catch (const std::exception& error) {
    return {.refusal = std::string{"calls were not timed: "} + error.what()};
  }
}

}  // namespace

void time_calls_once(World& world, const std::string& path, Deadline deadline) {
  const RankTable& ranks = world.ranks();
  std::vector<Rank> members;
  for (const Rank rank : ranks.everyone())
    if (ranks.memory_domain(rank) == ranks.memory_domain(0)) members.push_back(rank);
  const bool shares_memory = world.links()->segment() != nullptr;
  if (!shares_memory || members.size() < 2 ||
      shared_cores(ranks.infos_of(ranks.everyone()), 0) > 0 ||
      has_times(*world.shared_config(), static_cast<int>(members.size())))
    return;
  std::string report;  // of rank 0
  if (ranks.memory_domain(world.rank()) == ranks.memory_domain(0)) {
    TimedCalls timed = timed_among(world, members);
    if (world.rank() == 0) {
      put_text(report, timed.refusal.empty() ? keep_timed_calls(path, std::move(timed.tables))
                                             : std::string{});
      put_text(report, timed.refusal);
    }
  }
  Communicator all = world.start_communicator(
      ranks.everyone(), World::StartStep::share_times,
      std::max<Duration>(deadline - std::chrono::steady_clock::now(), kPatienceWithCalls));
  std::uint64_t length = report.size();
  all.broadcast(std::span{&length, 1}, 0);
  report.resize(length);
  all.broadcast(std::as_writable_bytes(std::span{report}), 0);
  std::string_view rest = report;
  const std::string_view text = take_text(rest);
  world.set_shared_config(with_timed_calls(*world.shared_config(), path, text, take_text(rest)));
}

}  // namespace tutti::runtime
