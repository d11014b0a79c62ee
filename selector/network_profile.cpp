#include "network_profile.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <tutti/error.hpp>

#include "predict_flow.hpp"
#include "saturating.hpp"

namespace tutti::inline v0 {
namespace {

using detail::plus, detail::share_of, detail::times;
using Sum = NetworkProfile::Sum;

/// A message of a round: to whom, and how many units.
using Outgoing = std::pair<Rank, std::int64_t>;

std::vector<Outgoing> outgoing_of(std::span<const Step> round) {
  std::vector<Outgoing> messages;
  for (const Step& step : round) {
    if (step.kind() != Step::Kind::send) continue;
    const auto same = std::ranges::find(messages, step.peer(), &Outgoing::first);
    if (same == messages.end()) messages.emplace_back(step.peer(), step.slots().count);
    else same->second += step.slots().count;
  }
  return messages;
}

/// What a round's messages take of one rank.
struct Crossing {
  Femtoseconds bytes = 0;     // of the fullest link on their ways
  Femtoseconds messages = 0;  // of the link on their ways that they occupy longest
  Femtoseconds latency = 0;   // of the longest way
};

/// What links carry in one round, and in all.
class LinkLoads {
 public:
  explicit LinkLoads(const RankNetwork& network)
      : topology_{network.topology}, routes_{network.topology, network.routing},
        now_(routes_.channels()), ever_(routes_.channels()) {}

  void add(Rank from, const Outgoing& message) {
    routes_.find(from, message.first, path_);
    for (const int channel : path_) {
      Load& load = now_[static_cast<std::size_t>(channel)];
      if (load.messages == 0) used_.push_back(channel);
      ++load.messages;
      load.units += message.second;
    }
  }
  /// Once all messages of the round have been added.
  [[nodiscard]] Crossing crossing(Rank from, std::span<const Outgoing> messages) {
    Crossing crossing;
    for (const Outgoing& message : messages) {
      routes_.find(from, message.first, path_);
      Femtoseconds latency = 0;
      for (const int channel : path_) {
        latency = plus(latency, speed(channel).latency);
        crossing.bytes = std::max(crossing.bytes, bytes(channel, now_));
        crossing.messages = std::max(crossing.messages, messages_on(channel, now_));
      }
      crossing.latency = std::max(crossing.latency, latency);
    }
    return crossing;
  }
  void end_round() {
    for (const int channel : used_) {
      const auto at = static_cast<std::size_t>(channel);
      const Load load = std::exchange(now_[at], {});
      ever_[at] = {ever_[at].units + load.units, ever_[at].messages + load.messages};
      fullest_.bytes = std::max(fullest_.bytes, bytes(channel, ever_));
      fullest_.messages = std::max(fullest_.messages, messages_on(channel, ever_));
    }
    used_.clear();
  }
  /// What the links take that carry most of all rounds, without latency.
  [[nodiscard]] const Crossing& fullest() const noexcept { return fullest_; }

 private:
  [[nodiscard]] const LinkSpeed& speed(int channel) const {
    return topology_.links()[static_cast<std::size_t>(channel / 2)].speed;
  }
  struct Load {
    std::int64_t units = 0;
    std::int64_t messages = 0;
  };
  [[nodiscard]] Femtoseconds bytes(int channel, const std::vector<Load>& loads) const {
    return times(loads[static_cast<std::size_t>(channel)].units, speed(channel).per_byte);
  }
  [[nodiscard]] Femtoseconds messages_on(int channel, const std::vector<Load>& loads) const {
    return times(loads[static_cast<std::size_t>(channel)].messages, speed(channel).per_message);
  }

  const Topology& topology_;
  Routes routes_;
  std::vector<Load> now_, ever_;  // by channel
  std::vector<int> used_{}, path_{};
  Crossing fullest_{};
};

/// By rank, or of rank 0 for all, then by round.
using Crossings = std::vector<std::vector<Crossing>>;

Crossings crossings_of(std::span<const Schedule> schedules, LinkLoads& loads) {
  Crossings crossings(schedules.size());
  std::size_t rounds = 0;
  for (const Schedule& schedule : schedules) rounds = std::max(rounds, schedule.rounds());
  std::vector<std::vector<Outgoing>> messages(schedules.size());
  for (std::size_t index = 0; index < rounds; ++index) {
    for (std::size_t rank = 0; rank < schedules.size(); ++rank) {
      messages[rank].clear();
      if (index >= schedules[rank].rounds()) continue;
      messages[rank] = outgoing_of(schedules[rank].round(index));
      for (const Outgoing& message : messages[rank]) loads.add(static_cast<Rank>(rank), message);
    }
    for (std::size_t rank = 0; rank < schedules.size(); ++rank)
      if (index < schedules[rank].rounds())
        crossings[rank].push_back(loads.crossing(static_cast<Rank>(rank), messages[rank]));
    loads.end_round();
  }
  return crossings;
}

/// Of all ranks together, since all do the same: the slowest counts. Rounds that send as far and as
/// much are alike.
Crossings crossings_of_all(const Schedule& first, int size, LinkLoads& loads) {
  std::map<std::vector<Outgoing>, Crossing> known;
  Crossings crossings(1);
  for (std::size_t index = 0; index < first.rounds(); ++index) {
    const std::vector<Outgoing> messages = outgoing_of(first.round(index));
    const auto [found, is_new] = known.try_emplace(messages);
    if (is_new) {
      const auto sent_by = [&](Rank rank) {
        std::vector<Outgoing> own = messages;
        for (std::size_t i = 0; i < own.size(); ++i)
          own[i].first = (messages[i].first + rank) % size;
        return own;
      };
      for (Rank rank = 0; rank < size; ++rank)
        for (const Outgoing& message : sent_by(rank)) loads.add(rank, message);
      for (Rank rank = 0; rank < size; ++rank) {
        const Crossing own = loads.crossing(rank, sent_by(rank));
        found->second = {std::max(found->second.bytes, own.bytes),
                         std::max(found->second.messages, own.messages),
                         std::max(found->second.latency, own.latency)};
      }
      loads.end_round();
    }
    crossings[0].push_back(found->second);
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

/// Each member takes its own longest path.
struct CountOnNetwork {
  const Crossings& crossings;
  Femtoseconds message;  // what handing one over takes

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
  for (Rank rank = 0; rank < built; ++rank) schedules.push_back(choice.build(size, root, rank));
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
  const std::vector<Schedule> schedules = schedules_of(choice, size, root);
  check_units(schedules);
  LinkLoads loads{network};
  const bool is_one_for_all = static_cast<int>(schedules.size()) < size;
  const Crossings crossings = is_one_for_all ? crossings_of_all(schedules.front(), size, loads)
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
  // Of one for all every rank is as busy as the path is long.
  profile.busiest.bytes = is_one_for_all ? profile.path.bytes : loads.fullest().bytes;
  profile.busiest.messages = is_one_for_all
                                 ? profile.path.messages
                                 : std::max(profile.busiest.messages, loads.fullest().messages);
  profile.path = later_of_sums(profile.path, profile.busiest);
  return profile;
}

}  // namespace tutti::inline v0
