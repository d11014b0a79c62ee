#include "on_simgrid.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <simgrid/s4u.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "selector/byte_offsets.hpp"
#include "selector/predict_flow.hpp"
#include "topology/routes.hpp"

namespace tutti::v0 {
namespace {

namespace s4u = simgrid::s4u;

double seconds_of(Femtoseconds time) noexcept {
  return static_cast<double>(time) / 1e15;
}

/// SimGrid's model of TCP is turned off: no factors, no windows, no traffic of acknowledgements.
/// Its default precisions, of 10 microseconds and so on, are coarser than a small message.
s4u::Engine& make_engine() {
  static std::array<std::string, 12> words{"simgrid",
                                           "--log=root.thresh:warning",
                                           "--cfg=network/model:CM02",
                                           "--cfg=network/bandwidth-factor:1",
                                           "--cfg=network/latency-factor:1",
                                           "--cfg=network/weight-S:0",
                                           "--cfg=network/TCP-gamma:0",
                                           "--cfg=network/crosstraffic:0",
                                           "--cfg=surf/precision:1e-13",
                                           "--cfg=maxmin/precision:1e-4",
                                           "--cfg=contexts/stack-size:128",
                                           "--cfg=contexts/guard-size:0"};
  static std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  static int count = static_cast<int>(words.size());
  static s4u::Engine engine{&count, arguments.data()};
  return engine;
}

/// A network as SimGrid's platform: a link for each channel, and the route of each two hosts as
/// Routes has it.
class Platform {
 public:
  Platform(const Topology& topology, int hosts, LatencyModel latency)
      : topology_{topology}, routes_{topology}, zone_{s4u::create_full_zone("network")} {
    for (int host = 0; host < hosts; ++host)
      hosts_.push_back(zone_->create_host("host" + std::to_string(host), 1e9)->seal());
    add_channels(latency);
    for (int from = 0; from < hosts; ++from)
      for (int to = 0; to < hosts; ++to)
        if (from != to) add_route(from, to);
    zone_->seal();
  }
  [[nodiscard]] s4u::Host* host(Rank rank) const { return hosts_[static_cast<std::size_t>(rank)]; }
  /// @return the latency of the route, in seconds.
  [[nodiscard]] double latency(Rank from, Rank to) const { return latencies_.at({from, to}); }

 private:
  void add_channels(LatencyModel latency) {
    for (const Topology::Link& link : topology_.links()) {
      const double bandwidth = 1 / std::max(seconds_of(link.speed.per_byte), 1e-21);
      for (int direction = 0; direction < 2; ++direction) {
        s4u::Link* const channel =
            zone_->create_link("channel" + std::to_string(channels_.size()), bandwidth);
        if (latency == LatencyModel::native) channel->set_latency(seconds_of(link.speed.latency));
        channels_.push_back(channel->seal());
      }
    }
  }
  void add_route(int from, int to) {
    routes_.find(from, to, path_);
    std::vector<s4u::LinkInRoute> links;
    double latency = 0;
    for (const int channel : path_) {
      links.emplace_back(channels_[static_cast<std::size_t>(channel)]);
      latency += seconds_of(topology_.links()[static_cast<std::size_t>(channel / 2)].speed.latency);
    }
    latencies_[{from, to}] = latency;
    zone_->add_route(host(from)->get_netpoint(), host(to)->get_netpoint(), nullptr, nullptr, links,
                     false);
  }

  const Topology& topology_;
  Routes routes_;
  s4u::NetZone* zone_;
  std::vector<s4u::Host*> hosts_{};
  std::vector<s4u::Link*> channels_{};
  std::map<std::pair<Rank, Rank>, double> latencies_{};
  std::vector<int> path_{};
};

/// The actors of a round beside the main ones.
using Parts = std::vector<s4u::ActorPtr>;

/// Each rank is an actor that starts rounds, and each message that it sends, receives or reduces is
/// one more. A mutex is the rank's attention, which goes to one of them after the other.
class Actors {
 public:
  Actors(std::span<const Schedule> schedules, const ByteOffsets& offsets, const Platform& platform,
         const EndpointCosts& costs, LatencyModel latency)
      : schedules_{schedules}, offsets_{offsets}, platform_{platform},
        message_{seconds_of(costs.message)}, reduced_{seconds_of(costs.reduced)}, latency_{
                                                                                      latency} {
    for (std::size_t rank = 0; rank < schedules.size(); ++rank)
      attention_.push_back(s4u::Mutex::create());
  }
  void create_actors() {
    for (std::size_t i = 0; i < schedules_.size(); ++i) {
      const auto rank = static_cast<Rank>(i);
      s4u::Actor::create("rank", platform_.host(rank), [this, rank] { run(rank); });
    }
  }

 private:
  struct Pair {
    s4u::MutexPtr line = s4u::Mutex::create();  // messages to one peer wait for one another
    s4u::SemaphorePtr arrived = s4u::Semaphore::create(0);
  };

  void run(Rank rank) {
    const Schedule& schedule = schedules_[static_cast<std::size_t>(rank)];
    std::vector<Parts> rounds;
    detail::LastAccesses accesses;
    std::vector<std::uint32_t> before;
    for (std::size_t i = 0; i < schedule.rounds(); ++i) {
      find_before(schedule, i, accesses, before);
      for (const std::uint32_t earlier : before)
        for (const s4u::ActorPtr& part : rounds[earlier]) part->join();
      rounds.push_back(start(rank, schedule.round(i)));
    }
  }
  static void find_before(const Schedule& schedule, std::size_t round,
                          detail::LastAccesses& accesses, std::vector<std::uint32_t>& before) {
    before.clear();
    if (schedule.paced()) {
      if (round > 0) before.push_back(static_cast<std::uint32_t>(round - 1));
      return;
    }
    const detail::Accesses touched = accesses_of(schedule.round(round));
    accesses.collect(touched, before);
    accesses.note(touched, static_cast<std::uint32_t>(round));
  }

  Parts start(Rank rank, std::span<const Step> round) {
    std::map<Rank, std::int64_t> sent, received, reduced;
    std::int64_t own = 0;
    for (const Step& step : round) {
      const std::int64_t bytes = offsets_(step.slots());
      if (step.kind() == Step::Kind::send) sent[step.peer()] += bytes;
      if (step.kind() == Step::Kind::reduce) own += bytes;
      if (step.kind() == Step::Kind::recv || step.kind() == Step::Kind::recv_reduce)
        received[step.peer()] += bytes;
      if (step.kind() == Step::Kind::recv_reduce) reduced[step.peer()] += bytes;
    }
    Parts parts;
    const auto act = [&](auto what) {
      parts.push_back(s4u::Actor::create("part", platform_.host(rank), what));
    };
    for (const auto& [peer, bytes] : sent)
      act([this, rank, to = peer, size = bytes] { send(rank, to, size); });
    if (own > 0) act([this, rank, own] { reduce(rank, own); });
    for (const auto& [peer, bytes] : received)
      act([this, rank, from = peer, size = reduced[peer]] { receive(from, rank, size); });
    return parts;
  }

  void work(Rank rank, double seconds) {
    const s4u::MutexPtr& attention = attention_[static_cast<std::size_t>(rank)];
    attention->lock();
    s4u::this_actor::sleep_for(seconds);
    attention->unlock();
  }
  void reduce(Rank rank, std::int64_t bytes) { work(rank, static_cast<double>(bytes) * reduced_); }
  void send(Rank from, Rank to, std::int64_t bytes) {
    work(from, message_);
    const Pair& pair = pairs_[{from, to}];
    pair.line->lock();
    // SimGrid has no message without bytes where there is no latency either.
    if (bytes > 0 || latency_ == LatencyModel::native)
      s4u::Comm::sendto(platform_.host(from), platform_.host(to),
                        static_cast<std::uint64_t>(bytes));
    pair.line->unlock();
    if (latency_ == LatencyModel::native) return pair.arrived->release();
    s4u::Actor::create("flight", platform_.host(to), [this, from, to, pair] {
      s4u::this_actor::sleep_for(platform_.latency(from, to));
      pair.arrived->release();
    });
  }
  void receive(Rank from, Rank to, std::int64_t reduced) {
    pairs_[{from, to}].arrived->acquire();
    if (reduced > 0) reduce(to, reduced);
  }

  std::span<const Schedule> schedules_;
  const ByteOffsets& offsets_;
  const Platform& platform_;
  double message_;
  double reduced_;
  LatencyModel latency_;
  std::vector<s4u::MutexPtr> attention_{};
  std::map<std::pair<Rank, Rank>, Pair> pairs_{};
};

}  // namespace

double time_on_simgrid(std::span<const Schedule> schedules,
                       std::span<const std::size_t> block_bytes, const Topology& topology,
                       const EndpointCosts& costs, LatencyModel latency) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) throw std::runtime_error{"no pipe"};
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error{"no child process"};
  if (child == 0) {
    const s4u::Engine& engine = make_engine();
    s4u::Engine::on_deadlock_cb([] { _exit(1); });
    const ByteOffsets offsets = offsets_of(schedules.front().units(), block_bytes, 1);
    const Platform platform{topology, static_cast<int>(schedules.size()), latency};
    Actors collective{schedules, offsets, platform, costs, latency};
    collective.create_actors();
    engine.run();
    const double time = s4u::Engine::get_clock() * 1e9;
    _exit(write(ends[1], &time, sizeof time) == sizeof time ? 0 : 1);
  }
  close(ends[1]);
  double time = 0;
  const bool is_whole = read(ends[0], &time, sizeof time) == sizeof time;
  close(ends[0]);
  waitpid(child, nullptr, 0);
  if (!is_whole) throw std::runtime_error{"SimGrid ended without an answer"};
  return time;
}

}  // namespace tutti::v0
