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

#include "runtime/sockets/fields.hpp"
#include "selector/timed_calls.hpp"

#include "time_calls.hpp"
#include "timed_calls_file.hpp"

namespace tutti::runtime {
namespace {

/// The deadline of one call, so that a stopped rank does not keep the others from starting.
constexpr std::chrono::seconds kTimedCallTimeout{1};

/// @return whether there are times for this number of ranks on one host.
bool has_times(const detail::SharedConfig& shared_config, int ranks) {
  if (!shared_config.timed) return false;
  const detail::TunedTable* const known =
      detail::find_timed(*shared_config.timed,
                         {.collective = Collective::barrier, .ranks = ranks, .transport = "shm"});
  return known != nullptr && known->place.ranks == ranks;
}

/// Collective among the members. @return the times, or the reason why there are none.
TimedCalls timed_among(World& world, const std::vector<Rank>& members) {
  try {
    Communicator group =
        world.start_communicator(members, World::StartStep::time_calls, kTimedCallTimeout);
    return time_calls(group);
  } catch (const std::exception& error) {
    return {.refusal = std::string{"calls were not timed: "} + error.what()};
  }
}

}  // namespace

void time_calls_once(World& world, const std::string& path, Deadline deadline) {
  const RankTable& ranks = world.ranks();
  std::vector<Rank> members;
  for (const Rank rank : ranks.all_ranks())
    if (ranks.memory_domain(rank) == ranks.memory_domain(0)) members.push_back(rank);
  const bool shares_memory = world.links()->segment() != nullptr;
  if (!shares_memory || members.size() < 2 ||
      shared_cores(ranks.infos_of(ranks.all_ranks()), 0) > 0 ||
      has_times(*world.shared_config(), static_cast<int>(members.size())))
    return;
  std::string report;  // of rank 0
  if (ranks.memory_domain(world.rank()) == ranks.memory_domain(0)) {
    TimedCalls timed = timed_among(world, members);
    if (world.rank() == 0) {
      write_text(report, timed.refusal.empty() ? store_timed_calls(path, std::move(timed.tables))
                                               : std::string{});
      write_text(report, timed.refusal);
    }
  }
  Communicator all = world.start_communicator(
      ranks.all_ranks(), World::StartStep::share_times,
      std::max<Duration>(deadline - std::chrono::steady_clock::now(), kTimedCallTimeout));
  std::uint64_t length = report.size();
  all.broadcast(std::span{&length, 1}, 0);
  report.resize(length);
  all.broadcast(std::as_writable_bytes(std::span{report}), 0);
  std::string_view rest = report;
  const std::string_view text = read_text(rest);
  world.set_shared_config(with_timed_calls(*world.shared_config(), path, text, read_text(rest)));
}

}  // namespace tutti::runtime
