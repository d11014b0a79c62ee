#include "network_profile.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <tutti/error.hpp>

#include "predict_flow.hpp"
#include "saturating.hpp"

namespace tutti::v0 {
namespace {

using detail::plus, detail::share_of, detail::times;
using Sum = NetworkProfile::Sum;

/// Pairs of more ranks have no 32-bit numbers.
constexpr int kMostAllToAll = 65'535;

/// A message of a round: the distance from its sender to its receiver, and its units.
using Outgoing = std::pair<Rank, std::int64_t>;

/// @return the messages of a round by distance; all sends to one peer are one.
std::vector<Outgoing> outgoing_of(std::span<const Step> round, Rank self, int size) {
  std::vector<Outgoing> messages;
  for (const Step& step : round) {
    if (step.kind() != Step::Kind::send) continue;
    const Rank shift = (step.peer() - self + size) % size;
    if (!messages.empty() && messages.back().first == shift)
      messages.back().second += step.slots().count;
    else messages.emplace_back(shift, step.slots().count);
  }
  std::ranges::sort(messages, {}, &Outgoing::first);
  std::size_t last = 0;
  for (std::size_t i = 1; i < messages.size(); ++i) {
    if (messages[i].first == messages[last].first) messages[last].second += messages[i].second;
    else messages[++last] = messages[i];
  }
  if (!messages.empty()) messages.resize(last + 1);
  return messages;
}

[[noreturn]] void reject_length(int size, const std::string& why) {
  throw Error{ErrorCode::invalid_argument,
              "too long to profile on " + std::to_string(size) + " ranks: " + why};
}

/// By rank, or of rank 0 alone, which stands for all; then by round.
using Crossings = std::vector<std::vector<Crossing>>;

Crossings crossings_of(std::span<const Schedule> schedules, LinkLoads& loads) {
  const auto size = static_cast<int>(schedules.size());
  Crossings crossings(schedules.size());
  std::size_t rounds = 0;
  for (const Schedule& schedule : schedules) rounds = std::max(rounds, schedule.rounds());
  for (std::size_t index = 0; index < rounds; ++index) {
    std::vector<std::size_t> ends;  // of each rank's messages among those of the round
    std::size_t messages = 0;
    for (Rank rank = 0; rank < size; ++rank) {
      const Schedule& schedule = schedules[static_cast<std::size_t>(rank)];
      if (index < schedule.rounds())
        for (const auto& [shift, units] : outgoing_of(schedule.round(index), rank, size))
          messages = loads.add_kept(rank, (rank + shift) % size, units) + 1;
      ends.push_back(messages);
    }
    for (std::size_t rank = 0, message = 0; rank < schedules.size(); ++rank) {
      Crossing own;
      for (; message < ends[rank]; ++message) own = most_of(own, loads.crossing(message));
      if (index < schedules[rank].rounds()) crossings[rank].push_back(own);
    }
    loads.end_round();
  }
  return crossings;
}

/// Rounds of rank 0, which stands for all ranks. A round takes as long as for the slowest rank.
/// Rounds with equal messages take equal times.
class AlikeRounds {
 public:
  AlikeRounds(int size, NetworkMemory& network, LinkLoads& loads)
      : size_{size}, network_{network}, loads_{loads} {}

  [[nodiscard]] Crossing crossing(const std::vector<Outgoing>& messages) {
    if (messages.size() == 1) return of_one(messages.front());
    const auto [found, is_new] = known_.try_emplace(messages);
    if (is_new) {
      follow(static_cast<std::int64_t>(messages.size()));
      found->second = of_several(messages);
    }
    return found->second;
  }

 private:
  /// Counts messages that each rank sends, since each needs a route. A single switch needs none.
  void follow(std::int64_t messages) {
    if (network_.is_one_switch()) return;
    followed_ += messages * size_;
    if (followed_ > kMostMessages)
      reject_length(size_, "more than " + std::to_string(kMostMessages) + " messages need routes");
  }
  [[nodiscard]] Crossing of_one(const Outgoing& message) {
    if (shifts_.insert(message.first).second) follow(1);
    Crossing crossing = network_.shifted(size_, message.first, loads_);
    crossing.bytes = times(crossing.bytes, message.second);
    return crossing;
  }
  [[nodiscard]] Crossing of_several(const std::vector<Outgoing>& messages) {
    // At a single switch, the link of each rank carries its own messages, and as many to it.
    Crossing all;
    if (network_.is_one_switch()) {
      for (const auto& [shift, units] : messages) {
        const Crossing one = network_.shifted(size_, shift, loads_);
        all = {plus(all.bytes, times(one.bytes, units)), plus(all.messages, one.messages),
               std::max(all.latency, one.latency)};
      }
      return all;
    }
    for (Rank rank = 0; rank < size_; ++rank)
      for (const auto& [shift, units] : messages) loads_.add(rank, (rank + shift) % size_, units);
    all = loads_.most();
    loads_.end_round();
    return all;
  }

  int size_;
  NetworkMemory& network_;
  LinkLoads& loads_;
  std::int64_t followed_ = 0;
  std::set<Rank> shifts_{};
  std::map<std::vector<Outgoing>, Crossing> known_{};
};

Crossings crossings_of_all(const Schedule& first, int size, NetworkMemory& network,
                           LinkLoads& loads) {
  AlikeRounds rounds{size, network, loads};
  Crossings crossings(1);
  for (std::size_t index = 0; index < first.rounds(); ++index) {
    const std::vector<Outgoing> messages = outgoing_of(first.round(index), 0, size);
    crossings[0].push_back(messages.empty() ? Crossing{} : rounds.crossing(messages));
  }
  return crossings;
}

Sum later_of_sums(const Sum& a, const Sum& b) noexcept {
  return {std::max(a.messages, b.messages), std::max(a.latency, b.latency),
          std::max(a.bytes, b.bytes), std::max(a.reduced, b.reduced)};
}

std::int64_t units_of_slots(const Slots& slots) noexcept {
  return slots.count;
}

/// Follows the longest path for each member separately.
struct CountOnNetwork {
  const Crossings& crossings;
  Femtoseconds message;  // the sender's time for one

  [[nodiscard]] const Crossing& crossing(RoundOf at) const {
    return crossings[static_cast<std::size_t>(at.rank)][at.index];
  }
  Sum busy(RoundOf self, std::span<const Step> round, Sum now) const {
    const Crossing& own = crossing(self);
    now.messages = plus(now.messages, plus(times(messages_in(round), message), own.messages));
    now.bytes = plus(now.bytes, own.bytes);
    return now;
  }
  Sum arrives(RoundOf from, Rank, Sum sent) const {
    sent.latency = plus(sent.latency, crossing(from).latency);
    return sent;
  }
  Sum later(const Sum& a, const Sum& b) const noexcept { return later_of_sums(a, b); }
  Sum done(RoundOf, std::span<const Step> round, Sum now) const {
    now.reduced += work_of(round, units_of_slots).reduced;
    return now;
  }
  void matched(RoundOf, RoundOf, const Sum&) const noexcept {}
};

std::vector<Schedule> schedules_of(const Choice& choice, int size, Rank root) {
  std::vector<Schedule> schedules;
  const int built = choice.algorithm->traits.rotational ? 1 : size;
  std::size_t steps = 0;
  for (Rank rank = 0; rank < built; ++rank) {
    schedules.push_back(choice.build(size, root, rank));
    steps += schedules.back().steps().size();
    if (built > 1 && steps > kMostSteps)
      reject_length(size, "the first " + std::to_string(rank + 1) + " have more than " +
                              std::to_string(kMostSteps) + " steps");
  }
  return schedules;
}

}  // namespace

Femtoseconds NetworkTerms::total() const noexcept {
  return plus(plus(latency, messages), plus(bytes, reductions));
}

NetworkTerms NetworkProfile::time(std::size_t bytes, std::size_t segment_bytes) const noexcept {
  std::int64_t segments = 1;
  if (segment_bytes > 0 && bytes > segment_bytes)
    segments = static_cast<std::int64_t>((bytes - 1) / segment_bytes + 1);
  const std::int64_t whole = times(units, segments);
  const auto terms = [&](const Sum& of) {
    return NetworkTerms{of.latency, of.messages, share_of(bytes, of.bytes, whole),
                        times(share_of(bytes, of.reduced, whole), endpoints.reduced)};
  };
  NetworkTerms all = terms(path);
  const NetworkTerms each = terms(busiest);
  const Femtoseconds longest = std::max({each.messages, each.bytes, each.reductions});
  Femtoseconds& bound = longest == each.bytes      ? all.bytes
                        : longest == each.messages ? all.messages
                                                   : all.reductions;
  bound = plus(bound, times(segments - 1, longest));
  return all;
}

NetworkProfile profile_on(const Choice& choice, int size, Rank root, const RankNetwork& network) {
  if (network.topology.hosts() < size)
    throw Error{ErrorCode::invalid_argument, "network " + network.topology.name() +
                                                 " has places for " +
                                                 std::to_string(network.topology.hosts()) +
                                                 " ranks, fewer than " + std::to_string(size)};
  if (is_between_pairs(choice.algorithm->collective) && size > kMostAllToAll)
    reject_length(size, "its vector has a block for each pair of ranks");
  const std::vector<Schedule> schedules = schedules_of(choice, size, root);
  check_units(schedules);
  // Communicators of several threads may share the network.
  const std::lock_guard lock{network.memory->mutex()};
  network.memory->prepare(network.topology, network.routing);
  LinkLoads loads{network.topology, network.memory->routes()};
  const bool is_one_for_all = static_cast<int>(schedules.size()) < size;
  const Crossings crossings =
      is_one_for_all ? crossings_of_all(schedules.front(), size, *network.memory, loads)
                     : crossings_of(schedules, loads);
  NetworkProfile profile{.units = schedules.front().units(), .endpoints = network.endpoints};
  CountOnNetwork count{crossings, network.endpoints.message};
  for (const Sum& end : Flow<Sum, CountOnNetwork>{schedules, size, count}.run())
    profile.path = later_of_sums(profile.path, end);
  for (std::size_t rank = 0; rank < schedules.size(); ++rank) {
    Sum own;
    for (std::size_t index = 0; index < schedules[rank].rounds(); ++index) {
      const std::span<const Step> round = schedules[rank].round(index);
      own.messages = plus(own.messages, times(messages_in(round), network.endpoints.message));
      own.reduced += work_of(round, units_of_slots).reduced;
    }
    profile.busiest = later_of_sums(profile.busiest, own);
  }
  // If rank 0 stands for all, each rank is busy along the whole path.
  profile.busiest.bytes = is_one_for_all ? profile.path.bytes : loads.fullest().bytes;
  profile.busiest.messages = is_one_for_all
                                 ? profile.path.messages
                                 : std::max(profile.busiest.messages, loads.fullest().messages);
  profile.path = later_of_sums(profile.path, profile.busiest);
  return profile;
}

}  // namespace tutti::v0
