#include "simulate.hpp"

#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <queue>
#include <string>
#include <utility>

#include <tutti/error.hpp>

#include "byte_offsets.hpp"
#include "flows.hpp"
#include "predict_flow.hpp"

namespace tutti::inline v0 {
namespace {

double nanoseconds(Femtoseconds time) noexcept {
  return static_cast<double>(time) / 1e6;
}

std::vector<double> capacities_of(const Topology& topology) {
  std::vector<double> capacities;
  for (const Topology::Link& link : topology.links()) {
    // Where a byte takes no time, no message is slowed down.
    const double bytes = 1e6 / std::max(static_cast<double>(link.speed.per_byte), 1e-6);
    capacities.insert(capacities.end(), 2, bytes);
  }
  return capacities;
}

class Simulation {
 public:
  Simulation(std::span<const Schedule> schedules, const ByteOffsets& offsets,
             const Topology& topology, Routing routing, const EndpointCosts& costs)
      : schedules_{schedules}, offsets_{offsets}, topology_{topology}, routes_{topology, routing},
        flows_{capacities_of(topology)}, message_{nanoseconds(costs.message)}, reduced_{nanoseconds(
                                                                                   costs.reduced)},
        ranks_(schedules.size()) {}

  Simulated run() {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) start_rounds(static_cast<Rank>(rank));
    std::vector<std::size_t> ended;
    while (!events_.empty() || flows_.size() > 0) {
      const double next = events_.empty() ? kNever : events_.top().time - now_;
      const double left = std::min(next, flows_.until_next());
      flows_.pass(left, ended);
      now_ = left == next ? events_.top().time : now_ + left;
      for (const std::size_t message : ended) leave(message);
      ended.clear();
      while (!events_.empty() && events_.top().time <= now_) {
        const Event event = events_.top();
        events_.pop();
        happen(event);
      }
    }
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) check_end(static_cast<Rank>(rank));
    simulated_.nanoseconds = last_;
    simulated_.carried = flows_.carried();
    return std::move(simulated_);
  }

 private:
  static constexpr double kNever = std::numeric_limits<double>::infinity();
  struct Message {
    RoundOf from{};
    Rank to = 0;
    double bytes = 0;
    double latency = 0;
  };
  struct Event {
    enum class Kind : std::uint8_t { departs, arrives, part };
    double time = 0;
    std::size_t number = 0;  // among equals the first one happens first
    Kind kind{};
    std::size_t message = 0;
    RoundOf round{};  // of which a part is done
    friend bool operator<(const Event& a, const Event& b) noexcept {
      return std::pair{a.time, a.number} > std::pair{b.time, b.number};
    }
  };
  struct Receive {
    std::size_t round = 0;
    double reduced = 0;  // bytes
  };
  /// From one rank to another, in order.
  struct Pair {
    std::deque<std::size_t> leaving{};  // messages, of which the first is under way
    std::deque<Receive> receives{};     // that wait
    std::size_t arrived = 0;            // messages that do
  };
  struct State {
    std::size_t started = 0;              // rounds
    std::vector<std::size_t> parts{};     // of each round, that are not done
    double busy = 0;                      // until when
    detail::LastAccesses accesses{};      // by rounds
    std::vector<std::uint32_t> before{};  // rounds that the next one comes after
    bool is_known = false;                // which these are
  };

  [[nodiscard]] State& state_of(Rank rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] const Schedule& schedule_of(Rank rank) const {
    return schedules_[static_cast<std::size_t>(rank)];
  }
  void add(double time, Event::Kind kind, std::size_t message, RoundOf round = {}) {
    events_.push({time, events_made_++, kind, message, round});
  }
  /// The rank does something, as soon as it has nothing else to do. @return when that is done.
  double work(Rank rank, double time) {
    State& state = state_of(rank);
    state.busy = std::max(state.busy, now_) + time;
    last_ = std::max(last_, state.busy);
    return state.busy;
  }

  void start_rounds(Rank rank) {
    State& state = state_of(rank);
    while (state.started < schedule_of(rank).rounds()) {
      const std::span<const Step> round = schedule_of(rank).round(state.started);
      if (!state.is_known) find_before(state, rank, round);
      const auto is_pending = [&](std::uint32_t earlier) { return state.parts[earlier] > 0; };
      if (std::ranges::any_of(state.before, is_pending)) return;
      state.is_known = false;
      start({rank, state.started++}, round);
    }
  }
  void find_before(State& state, Rank rank, std::span<const Step> round) const {
    state.is_known = true;
    state.before.clear();
    if (schedule_of(rank).paced()) {
      if (state.started > 0) state.before.push_back(static_cast<std::uint32_t>(state.started - 1));
      return;
    }
    const detail::Accesses accesses = accesses_of(round);
    state.accesses.collect(accesses, state.before);
    state.accesses.note(accesses, static_cast<std::uint32_t>(state.started));
  }

  void start(RoundOf self, std::span<const Step> round) {
    std::map<Rank, double> sent, received, reduced;
    double own = 0;
    for (const Step& step : round) {
      const auto bytes = static_cast<double>(offsets_(step.slots()));
      switch (step.kind()) {
        case Step::Kind::send: sent[step.peer()] += bytes; break;
        case Step::Kind::recv: received[step.peer()] += bytes; break;
        case Step::Kind::recv_reduce:
          received[step.peer()] += bytes;
          reduced[step.peer()] += bytes;
          break;
        case Step::Kind::reduce: own += bytes; break;
        default: break;
      }
    }
    state_of(self.rank).parts.push_back(sent.size() + received.size() + (own > 0 ? 1 : 0));
    for (const auto& [peer, bytes] : sent) send(self, peer, bytes);
    if (own > 0) add(work(self.rank, own * reduced_), Event::Kind::part, 0, self);
    for (const auto& [peer, bytes] : received) {
      Pair& pair = pairs_[{peer, self.rank}];
      pair.receives.push_back({self.index, reduced[peer]});
      match(pair, self.rank);
    }
  }

  void send(RoundOf self, Rank peer, double bytes) {
    if (peer < 0 || static_cast<std::size_t>(peer) >= ranks_.size())
      throw Error{ErrorCode::invalid_argument, "rank " + std::to_string(self.rank) +
                                                   " sends to rank " + std::to_string(peer) +
                                                   " of " + std::to_string(ranks_.size())};
    messages_.push_back({.from = self, .to = peer, .bytes = bytes});
    ++simulated_.messages;
    simulated_.bytes += bytes;
    add(work(self.rank, message_), Event::Kind::departs, messages_.size() - 1);
  }

  void happen(const Event& event) {
    if (event.kind == Event::Kind::part) return end_part(event.round);
    Message& message = messages_[event.message];
    if (event.kind == Event::Kind::arrives) {
      Pair& pair = pairs_[{message.from.rank, message.to}];
      ++pair.arrived;
      return match(pair, message.to);
    }
    Pair& pair = pairs_[{message.from.rank, message.to}];
    pair.leaving.push_back(event.message);
    if (pair.leaving.size() == 1) depart(event.message);
  }
  void depart(std::size_t number) {
    Message& message = messages_[number];
    routes_.find(message.from.rank, message.to, path_);
    double occupied = 0;  // in bytes that could pass the link meanwhile
    for (const int channel : path_) {
      const LinkSpeed& speed = topology_.links()[static_cast<std::size_t>(channel / 2)].speed;
      message.latency += nanoseconds(speed.latency);
      occupied = std::max(occupied, static_cast<double>(speed.per_message) /
                                        std::max(static_cast<double>(speed.per_byte), 1e-6));
    }
    flows_.start(path_, message.bytes + occupied, number);
  }
  void leave(std::size_t number) {
    const Message& message = messages_[number];
    Pair& pair = pairs_[{message.from.rank, message.to}];
    pair.leaving.pop_front();
    if (!pair.leaving.empty()) depart(pair.leaving.front());
    last_ = std::max(last_, now_);
    add(now_ + message.latency, Event::Kind::arrives, number);
    add(now_, Event::Kind::part, 0, message.from);
  }
  void match(Pair& pair, Rank receiver) {
    for (; pair.arrived > 0 && !pair.receives.empty(); --pair.arrived) {
      const Receive receive = pair.receives.front();
      pair.receives.pop_front();
      const double done = receive.reduced > 0 ? work(receiver, receive.reduced * reduced_) : now_;
      last_ = std::max(last_, done);
      add(done, Event::Kind::part, 0, {receiver, receive.round});
    }
  }
  void end_part(RoundOf round) {
    if (--state_of(round.rank).parts[round.index] == 0) start_rounds(round.rank);
  }
  void check_end(Rank rank) {
    const State& state = state_of(rank);
    const bool is_over = state.started == schedule_of(rank).rounds() &&
                         std::ranges::count(state.parts, std::size_t{0}) ==
                             static_cast<std::ptrdiff_t>(state.parts.size());
    if (is_over) return;
    for (const auto& [ends, pair] : pairs_)
      if (ends.second == rank && !pair.receives.empty())
        throw Error{ErrorCode::invalid_argument,
                    "rank " + std::to_string(rank) + ", round " +
                        std::to_string(pair.receives.front().round) + ": waits for rank " +
                        std::to_string(ends.first) + ", which never sends it",
                    rank};
    // Whoever waits for no message waits for its own earlier rounds, which are over or do.
    throw Error{ErrorCode::bug, "rank " + std::to_string(rank) + " waits for nothing", rank};
  }

  std::span<const Schedule> schedules_;
  const ByteOffsets& offsets_;
  const Topology& topology_;
  Routes routes_;
  Flows flows_;
  double message_;
  double reduced_;
  double now_ = 0;
  double last_ = 0;  // that anything happened
  std::vector<State> ranks_;
  std::vector<Message> messages_{};
  std::map<std::pair<Rank, Rank>, Pair> pairs_{};
  std::priority_queue<Event> events_{};
  std::size_t events_made_ = 0;
  std::vector<int> path_{};
  Simulated simulated_{};
};

}  // namespace

Simulated simulate(std::span<const Schedule> schedules, std::span<const std::size_t> block_bytes,
                   std::size_t element_bytes, const Topology& topology, Routing routing,
                   const EndpointCosts& costs) {
  if (schedules.empty()) return {};
  if (schedules.size() > static_cast<std::size_t>(topology.hosts()))
    throw Error{ErrorCode::invalid_argument,
                "network " + topology.name() + " has " + std::to_string(topology.hosts()) +
                    " hosts, and there are " + std::to_string(schedules.size()) + " ranks"};
  check_units(schedules);
  const ByteOffsets offsets = offsets_of(schedules.front().units(), block_bytes, element_bytes);
  return Simulation{schedules, offsets, topology, routing, costs}.run();
}

}  // namespace tutti::inline v0
