#include <tutti/spi/memory.hpp>
#include <tutti/testing.hpp>

#include "schedule_run.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "backends/sim/random.hpp"
#include "collectives/execution/execution.hpp"
#include "proof/verify_lockstep.hpp"

namespace tutti::harness {
namespace {

/// One rank's part of the run.
struct Player {
  std::unique_ptr<Transport> transport{};
  std::unique_ptr<detail::Outbox> outbox{};
  std::unique_ptr<detail::Execution> execution{};
  std::byte token{1};  // what a barrier reduces
};

detail::Binding binding_of(const Schedule& schedule, const Case& what, const Transport& transport,
                           std::size_t segments, bool is_lockstep) {
  const Rank rank = transport.self();
  const Contract contract{what.collective, what.size, is_rooted(what.collective) ? what.root : 0};
  const bool is_barrier = what.collective == Collective::barrier;
  const std::vector<std::size_t> token{1};
  const detail::Layout layout{contract, rank, is_barrier ? token : what.counts};
  const Operator& op = is_barrier ? bit_or : what.model.op;
  const std::size_t element_bytes = is_barrier ? 1 : what.model.element_bytes;
  segments = std::clamp<std::size_t>(segments, 1, std::max<std::size_t>(layout.largest(), 1));
  const bool is_user = op.kind() == OperatorKind::user;
  const detail::LoweringOptions lowering{.element_bytes = element_bytes,
                                         .segments = segments,
                                         .divides = op.kind() == OperatorKind::average,
                                         .combines = transport.capabilities().combines && !is_user,
                                         .visible = transport.capabilities().visible && !is_user,
                                         .least_visible = 1,
                                         .lockstep = is_lockstep};
  return {.programs = std::make_unique<detail::Programs>(schedule, layout, lowering),
          .op = op.kind(),
          .type = is_barrier ? Datatype::u8 : what.model.type,
          .element_bytes = element_bytes,
          .segments = segments,
          .algorithm = "schedule",
          .fingerprint = 1};
}

/// All ranks in one thread, in an order that the seed decides.
class Play {
 public:
  Play(std::span<const Schedule> schedules, Experiment& experiment, const ScheduleRun& how)
      : cluster_{{.size = experiment.what().size,
                  .seed = how.seed,
                  .scribble = true,
                  .combines = how.seed % 2 == 1,
                  .visible = how.seed % 4 >= 2}},
        random_{how.seed ^ 0x5eed}, players_(schedules.size()) {
    constexpr int kInstances = 2;
    const bool is_lockstep = verifying::check_lockstep(schedules).holds;
    for (std::size_t i = 0; i < schedules.size(); ++i) {
      const auto rank = static_cast<Rank>(i);
      players_[i].transport = cluster_.transport(rank);
      players_[i].outbox = std::make_unique<detail::Outbox>(*players_[i].transport);
      players_[i].execution = std::make_unique<detail::Execution>(
          *players_[i].outbox, scratch_,
          std::make_shared<const detail::Binding>(binding_of(
              schedules[i], experiment.what(), *players_[i].transport, how.segments, is_lockstep)),
          kInstances);
      const Operator& op = experiment.what().model.op;
      if (players_[i].execution->binding().op == op.kind()) players_[i].execution->hold(op);
    }
    for (std::size_t i = 0; i < schedules.size(); ++i) start(i, experiment);
  }

  /// @return whether all ranks came to their end.
  bool run() {
    // As in World::drive: only several sweeps without a message are standstill.
    constexpr int kSweepsAtStandstill = 16;
    for (int idle = 0; idle < kSweepsAtStandstill;) {
      if (std::all_of(players_.begin(), players_.end(),
                      [](const Player& player) { return player.execution->done(); }))
        return true;
      const std::uint64_t before = cluster_.activity();
      const std::size_t first = random_.below(players_.size());
      for (std::size_t i = 0; i < players_.size(); ++i) poll((first + i) % players_.size());
      const bool moved = cluster_.activity() != before || cluster_.advance();
      idle = moved ? 0 : idle + 1;
    }
    return false;
  }

 private:
  void start(std::size_t index, Experiment& experiment) {
    Player& player = players_[index];
    const bool is_barrier = experiment.what().collective == Collective::barrier;
    const Call call = experiment.call(static_cast<Rank>(index));
    const detail::Execution::Buffers buffers{is_barrier ? &player.token : call.in,
                                             is_barrier ? &player.token : call.out};
    player.execution->start(buffers, {}, std::chrono::hours{1});
  }
  void poll(std::size_t index) {
    Transport& transport = *players_[index].transport;
    transport.poll();
    while (transport.completed() > 0) detail::SegmentRun::complete_oldest(transport);
  }

  sim::Cluster cluster_;
  sim::Random random_;
  std::shared_ptr<Memory> memory_ = make_host_memory();
  detail::Scratch scratch_{*memory_, 0};
  std::vector<Player> players_;
};

}  // namespace

std::string run_schedules(std::span<const Schedule> schedules, Experiment& experiment,
                          const ScheduleRun& how) {
  const std::string what =
      experiment.what().describe() + ", " + std::to_string(how.segments) + " segments";
  try {
    if (!Play{schedules, experiment, how}.run()) return what + ": nothing moves any more";
  } catch (const Error& error) {
    return what + ": " + error.what();
  }
  for (Rank rank = 0; rank < experiment.what().size; ++rank)
    if (const auto problem = experiment.problem(rank)) return what + ": " + *problem;
  return {};
}

}  // namespace tutti::harness
