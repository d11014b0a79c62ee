// How long plain calls take among the ranks of rank 0's host, timed once on a machine.
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
#include "world.hpp"

namespace tutti::runtime {
namespace {

/// Deadline of one call: a rank that stops must not keep the others from starting.
constexpr std::chrono::seconds kPatienceWithCalls{1};

}  // namespace

/// Collective. Rank 0's host times them, if no start did before with as many ranks, and rank 0
/// keeps them and tells everyone. That they cannot be timed is no reason not to start.
void World::time_calls_once(const std::vector<PeerInfo>& infos, Deadline deadline) {
  std::vector<Rank> members;
  for (const Rank rank : everyone())
    if (memory_domains_[static_cast<std::size_t>(rank)] == memory_domains_.front())
      members.push_back(rank);
  const bool shares_memory = links_->segment() != nullptr;
  if (!may_time_calls_ || !shares_memory || members.size() < 2 || shared_cores(infos, 0) > 0)
    return;
  const int ranks = static_cast<int>(members.size());
  const detail::TunedTable* const known =
      shared_config_->timed
          ? detail::find_timed(
                *shared_config_->timed,
                {.collective = Collective::barrier, .ranks = ranks, .transport = "shm"})
          : nullptr;
  if (known != nullptr && known->place.ranks == ranks) return;
  // Numbered beside those of a network's measurement.
  const auto among = [&](const std::vector<Rank>& some, std::uint64_t number, Duration patience) {
    return make_communicator(make_parts(id_of(id_, some, number), some), make_host_memory(),
                             {.timeout = patience});
  };
  std::string report;  // of rank 0
  if (memory_domains_[static_cast<std::size_t>(self_)] == memory_domains_.front()) {
    TimedCalls timed;
    try {
      Communicator group = among(members, 3, kPatienceWithCalls);
      timed = time_calls(group);
    } catch (const std::exception& error) {
      timed = {.refusal = std::string{"calls were not timed: "} + error.what()};
    }
    if (self_ == 0) {
      put_text(report, timed.refusal.empty()
                           ? keep_timed_calls(timed_calls_path_, std::move(timed.tables))
                           : std::string{});
      put_text(report, timed.refusal);
    }
  }
  Communicator all =
      among(everyone(), 4,
            std::max<Duration>(deadline - std::chrono::steady_clock::now(), kPatienceWithCalls));
  std::uint64_t length = report.size();
  all.broadcast(std::span{&length, 1}, 0);
  report.resize(length);
  all.broadcast(std::as_writable_bytes(std::span{report}), 0);
  std::string_view rest = report;
  const std::string_view text = take_text(rest);
  shared_config_ = with_timed_calls(*shared_config_, timed_calls_path_, text, take_text(rest));
}

}  // namespace tutti::runtime
