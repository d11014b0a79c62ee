#include "simulate.hpp"

#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <queue>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <tutti/error.hpp>
#include <tutti/spi/contract.hpp>

#include "byte_offsets.hpp"
#include "flows.hpp"
#include "predict_flow.hpp"

namespace tutti::v0 {
namespace {

double nanoseconds(Femtoseconds time) noexcept {
  return static_cast<double>(time) / 1e6;
}

std::vector<double> capacities_of(const Topology& topology) {
  std::vector<double> capacities;
  for (const Topology::Link& link : topology.links()) {
    // A link whose bytes take no time slows down no message.
    const double bytes = 1e6 / std::max(static_cast<double>(link.speed.per_byte), 1e-6);
    capacities.insert(capacities.end(), 2, bytes);
  }
  return capacities;
}

class Simulation {
 public:
  Simulation(std::span<const Schedule> schedules, std::span<const ByteOffsets> offsets,
             const Segments& segments, const Topology& topology, Routing routing,
             const EndpointCosts& costs)
      : schedules_{schedules}, offsets_{offsets}, segments_{segments}, topology_{topology},
        routes_{topology, routing}, flows_{capacities_of(topology)},
        message_{nanoseconds(costs.message)}, reduced_{nanoseconds(costs.reduced)},
        ranks_(schedules.size()) {}

  Simulated run() {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) begin(static_cast<Rank>(rank));
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
  /// A round of one rank, in one of its segments.
  struct At {
    Rank rank = 0;
    std::size_t segment = 0;
    std::size_t index = 0;
  };
  struct MessageInFlight {
    At from{};
    Rank to = 0;
    double bytes = 0;
    double latency = 0;
  };
  struct Event {
    enum class EventType : std::uint8_t { departs, arrives, part };
    double time = 0;
    std::size_t number = 0;  // of events at one time, the first one happens first
    EventType kind{};
    std::size_t message = 0;
    At round{};  // of which a part is done
    friend bool operator<(const Event& a, const Event& b) noexcept {
      return std::pair{a.time, a.number} > std::pair{b.time, b.number};
    }
  };
  struct Receive {
    std::size_t round = 0;
    double reduced = 0;  // bytes
  };
  /// The messages of one segment from one rank to another, in order.
  struct Inbox {
    std::deque<Receive> receives{};  // without a message
    std::size_t arrived = 0;         // messages without a receive
  };
  /// A segment that a rank has under way.
  struct RunningSegment {
    std::size_t segment = 0;
    std::size_t started = 0;              // rounds
    std::size_t done = 0;                 // rounds
    std::vector<std::size_t> parts{};     // unfinished ones of each round
    detail::LastAccesses accesses{};      // by rounds
    std::vector<std::uint32_t> before{};  // rounds that the next one depends on
    bool is_known = false;                // whether `before` is set
  };
  struct RankState {
    double busy = 0;                          // until this time
    std::size_t begun = 0;                    // segments
    std::vector<RunningSegment> under_way{};  // segment s at s % size()
  };
  using Ends = std::pair<Rank, Rank>;

  [[nodiscard]] RankState& rank_of(Rank rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] RunningSegment& state_of(Rank rank, std::size_t segment) {
    std::vector<RunningSegment>& under_way = rank_of(rank).under_way;
    return under_way[segment % under_way.size()];
  }
  [[nodiscard]] const Schedule& schedule_of(Rank rank) const {
    return schedules_[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] const ByteOffsets& offsets_of_segment(std::size_t segment) const {
    return offsets_[std::min(segment, offsets_.size() - 1)];
  }
  void add(double time, Event::EventType kind, std::size_t message, const At& round) {
    events_.push({time, events_made_++, kind, message, round});
  }
  /// Occupies the rank for a time, as soon as it is free. @return the end.
  double work(Rank rank, double time) {
    double& busy = rank_of(rank).busy;
    busy = std::max(busy, now_) + time;
    last_ = std::max(last_, busy);
    return busy;
  }

  /// Begins as many segments as may be under way.
  void begin(Rank rank) {
    RankState& state = rank_of(rank);
    const auto together =
        std::min(segments_.count, static_cast<std::size_t>(std::max(segments_.in_flight, 1)));
    state.under_way.resize(together);
    for (std::size_t segment = 0; segment < together; ++segment) begin_segment(rank, segment);
  }
  void begin_segment(Rank rank, std::size_t segment) {
    ++rank_of(rank).begun;
    state_of(rank, segment) = RunningSegment{.segment = segment};
    start_rounds(rank, segment);
  }
  /// Starts all rounds that may start. Once a segment is done, the next one begins in its place.
  void start_rounds(Rank rank, std::size_t segment) {
    RunningSegment& state = state_of(rank, segment);
    const std::size_t rounds = schedule_of(rank).rounds();
    while (state.started < rounds) {
      const std::span<const Step> round = schedule_of(rank).round(state.started);
      if (!state.is_known) find_before(state, rank, round);
      const auto is_pending = [&](std::uint32_t earlier) { return state.parts[earlier] > 0; };
      if (std::ranges::any_of(state.before, is_pending)) return;
      state.is_known = false;
      start({rank, segment, state.started++}, round);
    }
    const std::size_t next = segment + rank_of(rank).under_way.size();
    if (state.done == rounds && next < segments_.count) begin_segment(rank, next);
  }
  void find_before(RunningSegment& state, Rank rank, std::span<const Step> round) const {
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

  void start(const At& self, std::span<const Step> round) {
    std::map<Rank, double> sent, received, reduced;
    double own = 0;
    for (const Step& step : round) {
      const auto bytes = static_cast<double>(offsets_of_segment(self.segment)(step.slots()));
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
    RunningSegment& state = state_of(self.rank, self.segment);
    state.parts.push_back(sent.size() + received.size() + (own > 0 ? 1 : 0));
    if (state.parts.back() == 0) ++state.done;
    for (const auto& [peer, bytes] : sent) send(self, peer, bytes);
    if (own > 0) add(work(self.rank, own * reduced_), Event::EventType::part, 0, self);
    for (const auto& [peer, bytes] : received) {
      inboxes_[{peer, self.rank, self.segment}].receives.push_back({self.index, reduced[peer]});
      match(peer, self.rank, self.segment);
    }
  }

  void send(const At& self, Rank peer, double bytes) {
    if (peer < 0 || static_cast<std::size_t>(peer) >= ranks_.size())
      throw Error{ErrorCode::invalid_argument, "rank " + std::to_string(self.rank) +
                                                   " sends to rank " + std::to_string(peer) +
                                                   " of " + std::to_string(ranks_.size())};
    messages_.push_back({.from = self, .to = peer, .bytes = bytes});
    ++simulated_.messages;
    simulated_.bytes += bytes;
    add(work(self.rank, message_), Event::EventType::departs, messages_.size() - 1, self);
  }

  void happen(const Event& event) {
    if (event.kind == Event::EventType::part) return end_part(event.round);
    const MessageInFlight& message = messages_[event.message];
    const auto [from, segment, index] = message.from;
    if (event.kind == Event::EventType::arrives) {
      ++inboxes_[{from, message.to, segment}].arrived;
      return match(from, message.to, segment);
    }
    std::deque<std::size_t>& leaving = leaving_[{from, message.to}];
    leaving.push_back(event.message);
    if (leaving.size() == 1) depart(event.message);
  }
  void depart(std::size_t number) {
    MessageInFlight& message = messages_[number];
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
    const MessageInFlight& message = messages_[number];
    std::deque<std::size_t>& leaving = leaving_[{message.from.rank, message.to}];
    leaving.pop_front();
    if (!leaving.empty()) depart(leaving.front());
    last_ = std::max(last_, now_);
    add(now_ + message.latency, Event::EventType::arrives, number, message.from);
    add(now_, Event::EventType::part, 0, message.from);
  }
  void match(Rank sender, Rank receiver, std::size_t segment) {
    const auto found = inboxes_.find({sender, receiver, segment});
    Inbox& inbox = found->second;
    for (; inbox.arrived > 0 && !inbox.receives.empty(); --inbox.arrived) {
      const Receive receive = inbox.receives.front();
      inbox.receives.pop_front();
      const double done = receive.reduced > 0 ? work(receiver, receive.reduced * reduced_) : now_;
      last_ = std::max(last_, done);
      add(done, Event::EventType::part, 0, {receiver, segment, receive.round});
    }
    if (inbox.arrived == 0 && inbox.receives.empty()) inboxes_.erase(found);
  }
  void end_part(const At& round) {
    RunningSegment& state = state_of(round.rank, round.segment);
    if (--state.parts[round.index] > 0) return;
    ++state.done;
    start_rounds(round.rank, round.segment);
  }
  void check_end(Rank rank) {
    const RankState& state = rank_of(rank);
    const auto is_over = [&](const RunningSegment& segment) {
      return segment.done == schedule_of(rank).rounds();
    };
    if (state.begun == segments_.count && std::ranges::all_of(state.under_way, is_over)) return;
    for (const auto& [ends, inbox] : inboxes_)
      if (std::get<1>(ends) == rank && !inbox.receives.empty())
        throw Error{ErrorCode::invalid_argument,
                    "rank " + std::to_string(rank) + ", round " +
                        std::to_string(inbox.receives.front().round) + ": waits for rank " +
                        std::to_string(std::get<0>(ends)) + ", which never sends it",
                    rank};
    // A rank that waits for no message waits for its own earlier rounds, which are over or wait for
    // one.
    throw Error{ErrorCode::bug, "rank " + std::to_string(rank) + " waits for no rank", rank};
  }

  std::span<const Schedule> schedules_;
  std::span<const ByteOffsets> offsets_;
  Segments segments_;
  const Topology& topology_;
  Routes routes_;
  Flows flows_;
  double message_;
  double reduced_;
  double now_ = 0;
  double last_ = 0;  // the end of the last event
  std::vector<RankState> ranks_;
  std::vector<MessageInFlight> messages_{};
  std::map<Ends, std::deque<std::size_t>> leaving_{};  // messages, the first one under way
  std::map<std::tuple<Rank, Rank, std::size_t>, Inbox> inboxes_{};
  std::priority_queue<Event> events_{};
  std::size_t events_made_ = 0;
  std::vector<int> path_{};
  Simulated simulated_{};
};

/// The offsets of each segment, which is the same fraction of every block.
std::vector<ByteOffsets> offsets_of_segments(std::uint32_t units,
                                             std::span<const std::size_t> block_bytes,
                                             std::size_t element_bytes, std::size_t segments) {
  std::vector<ByteOffsets> offsets;
  std::vector<std::size_t> blocks(block_bytes.size());
  for (std::size_t segment = 0; segment < segments; ++segment) {
    for (std::size_t block = 0; block < blocks.size(); ++block) {
      const Partition partition{block_bytes[block] / element_bytes, segments};
      blocks[block] = partition.size(segment) * element_bytes;
    }
    offsets.push_back(offsets_of(units, blocks, element_bytes));
  }
  return offsets;
}

}  // namespace

Simulated simulate(std::span<const Schedule> schedules, std::span<const std::size_t> block_bytes,
                   std::size_t element_bytes, const Topology& topology, Routing routing,
                   const EndpointCosts& costs, const Segments& segments) {
  if (schedules.empty()) return {};
  if (schedules.size() > static_cast<std::size_t>(topology.hosts()))
    throw Error{ErrorCode::invalid_argument,
                "network " + topology.name() + " has " + std::to_string(topology.hosts()) +
                    " hosts, and there are " + std::to_string(schedules.size()) + " ranks"};
  check_units(schedules);
  const std::vector<ByteOffsets> offsets =
      segments.count < 2
          ? std::vector{offsets_of(schedules.front().units(), block_bytes, element_bytes)}
          : offsets_of_segments(schedules.front().units(), block_bytes, element_bytes,
                                segments.count);
  return Simulation{schedules, offsets, segments, topology, routing, costs}.run();
}

}  // namespace tutti::v0
