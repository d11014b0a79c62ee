#include "contributions.hpp"

#include <deque>
#include <unordered_map>
#include <utility>

#include <tutti/error.hpp>

namespace tutti::v0::detail {
namespace {

/// Plays the rounds of ranks with buffered messages.
class ContributionPlay {
 public:
  ContributionPlay(std::vector<Schedule> schedules, int size, Rank self)
      : size_{static_cast<std::uint64_t>(size)}, is_rotational_{schedules.size() == 1},
        self_{is_rotational_ ? 0 : static_cast<std::size_t>(self)} {
    for (Schedule& schedule : schedules) {
      const std::size_t slots = std::size_t{schedule.units()} * (1 + schedule.planes());
      ranks_.push_back({.rank = is_rotational_ ? self : static_cast<Rank>(ranks_.size()),
                        .schedule = std::move(schedule),
                        .slots = std::vector<std::uint32_t>(slots, 1)});
    }
  }

  /// @param note called with (step, contributions) for each slot that `self` receives, in order.
  template <class Note>
  void run(const Note& note) {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t i = 0; i < ranks_.size(); ++i)
        while (advance(ranks_[i], i == self_, note)) moved = true;
    }
    for (const RankState& state : ranks_)
      expects(state.round == state.schedule.rounds(),
              "schedules that were verified come to their end");
  }
  [[nodiscard]] const Schedule& schedule() const { return ranks_[self_].schedule; }

 private:
  struct RankState {
    Rank rank = 0;
    Schedule schedule;
    std::vector<std::uint32_t> slots{};  // out, then the planes of scratch
    std::size_t round = 0;
    bool has_sent = false;
  };
  struct Written {
    std::size_t slot = 0;
    std::uint32_t count = 0;
    bool adds = false;
  };

  /// @return the key of messages from one rank to another: in a rotational schedule, the distance.
  [[nodiscard]] std::uint64_t key_of(Rank from, Rank to) const noexcept {
    const auto source = static_cast<std::uint64_t>(from);
    const auto target = static_cast<std::uint64_t>(to);
    return is_rotational_ ? (target + size_ - source) % size_ : source * size_ + target;
  }
  [[nodiscard]] static std::size_t slot_of(const RankState& state, Space space,
                                           std::uint32_t index) {
    return space == Space::scratch ? state.schedule.units() + index : index;
  }
  /// The input holds the contribution of one rank.
  [[nodiscard]] static std::uint32_t read(const RankState& state, Space space,
                                          std::uint32_t index) {
    return space == Space::in ? 1 : state.slots[slot_of(state, space, index)];
  }

  /// Sends the messages of a round, and ends the round if all messages that it receives are there.
  template <class Note>
  bool advance(RankState& state, bool is_noted, const Note& note) {
    if (state.round == state.schedule.rounds()) return false;
    const std::span<const Step> steps = state.schedule.round(state.round);
    if (!std::exchange(state.has_sent, true))
      for (const Step& step : steps)
        if (step.kind() == Step::Kind::send) {
          std::deque<std::uint32_t>& queue = queues_[key_of(state.rank, step.peer())];
          for (std::uint32_t k = 0; k < step.slots().count; ++k)
            queue.push_back(read(state, step.slots().space, step.slots().first + k));
        }
    wanted_.clear();
    for (const Step& step : steps)
      if (step.has_peer() && step.kind() != Step::Kind::send)
        wanted_[key_of(step.peer(), state.rank)] += step.slots().count;
    for (const auto& [key, count] : wanted_)
      if (queues_[key].size() < count) return false;
    end_round(state, steps, is_noted, note);
    ++state.round;
    state.has_sent = false;
    return true;
  }

  /// Slots are overwritten before anything is added to them, in any order of the steps.
  template <class Note>
  void end_round(RankState& state, std::span<const Step> steps, bool is_noted, const Note& note) {
    written_.clear();
    for (const Step& step : steps) {
      if (step.kind() == Step::Kind::send || step.kind() == Step::Kind::finish) continue;
      const bool adds = step.kind() == Step::Kind::recv_reduce || step.kind() == Step::Kind::reduce;
      std::deque<std::uint32_t>* const queue =
          step.has_peer() ? &queues_[key_of(step.peer(), state.rank)] : nullptr;
      for (std::uint32_t k = 0; k < step.slots().count; ++k) {
        const std::size_t slot = slot_of(state, step.slots().space, step.slots().first + k);
        std::uint32_t count = 0;
        if (queue != nullptr) {
          count = queue->front();
          queue->pop_front();
          if (is_noted) note(step, count);
        } else {
          count = read(state, step.from().space, step.from().first + k);
        }
        written_.push_back({slot, count, adds});
      }
    }
    for (const Written& written : written_)
      if (!written.adds) state.slots[written.slot] = written.count;
    for (const Written& written : written_)
      if (written.adds) state.slots[written.slot] += written.count;
  }

  std::uint64_t size_;
  bool is_rotational_;
  std::size_t self_;
  std::vector<RankState> ranks_{};
  std::unordered_map<std::uint64_t, std::deque<std::uint32_t>> queues_{};
  std::unordered_map<std::uint64_t, std::size_t> wanted_{};
  std::vector<Written> written_{};
};

std::vector<Schedule> schedules_of(int size, Rank self, bool rotational,
                                   const std::function<Schedule(Rank)>& build) {
  std::vector<Schedule> schedules;
  if (rotational) schedules.push_back(build(self));
  else
    for (Rank rank = 0; rank < size; ++rank) schedules.push_back(build(rank));
  return schedules;
}

}  // namespace

Contributions::Contributions(int size, Rank self, bool rotational,
                             const std::function<Schedule(Rank)>& build) {
  ContributionPlay play{schedules_of(size, self, rotational, build), size, self};
  const Step* const steps = play.schedule().steps().data();
  first_.assign(play.schedule().steps().size() + 1, 0);
  play.run([&](const Step& step, std::uint32_t count) {
    ++first_[static_cast<std::size_t>(&step - steps) + 1];
    counts_.push_back(count);
  });
  for (std::size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
}

}  // namespace tutti::v0::detail
