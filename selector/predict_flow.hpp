/// @file
/// The data flow of a collective: when the rounds of each rank start and end, without lock step.
/// The price of a round is a parameter, so that times, counts and drawing positions come from one
/// recurrence. A round starts as in its program (program_builder.hpp): when the earlier rounds that
/// use the same slots have ended or, in a paced schedule, when the round before has.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <tutti/error.hpp>
#include <tutti/spi/schedule.hpp>

#include "proof/last_accesses.hpp"

namespace tutti::v0 {

/// The work of one rank in a round. The caller chooses the unit of sizes: slots or bytes.
struct RoundWork {
  std::int64_t messages = 0;  ///< Messages sent; all sends to one peer are one.
  std::int64_t in = 0;        ///< Size received.
  std::int64_t out = 0;       ///< Size sent.
  std::int64_t stored = 0;    ///< Size of the slots it fills: operands of one slot count once.
  std::int64_t reduced = 0;   ///< Size of all operands that are reduced into own slots.
};

/// Lists the peers of a round, each once. @param sending whether to list the peers of sends, or of
/// receives. @param peers is replaced by the list, ascending; its memory is reused.
void find_peers(std::span<const Step> round, bool sending, std::vector<Rank>& peers);

/// @return messages that a round sends: all sends to one peer are one.
[[nodiscard]] std::int64_t messages_in(std::span<const Step> round);

/// Checks that all ranks cut the vector into equally many units. Throws Error{invalid_argument}.
/// @param schedules of all ranks.
void check_units(std::span<const Schedule> schedules);

/// Adds up a round. @param size_of returns the size of Slots.
template <class SizeOf>
[[nodiscard]] RoundWork work_of(std::span<const Step> round, const SizeOf& size_of) {
  RoundWork work;
  std::optional<Slots> folded;  // by the previous receive
  for (const Step& step : round) {
    const std::int64_t size = size_of(step.slots());
    switch (step.kind()) {
      case Step::Kind::send: work.out += size; break;
      case Step::Kind::recv:
        work.in += size;
        work.stored += size;
        break;
      case Step::Kind::recv_reduce:
        work.in += size;
        if (folded != step.slots()) work.stored += size;
        folded = step.slots();
        work.reduced += size;
        break;
      case Step::Kind::reduce: work.reduced += size; break;
      case Step::Kind::copy:
      case Step::Kind::finish: break;
    }
  }
  work.messages = messages_in(round);
  return work;
}

/// @return the slots that a round reads and writes, as if input and output were the same memory.
[[nodiscard]] detail::Accesses accesses_of(std::span<const Step> round);

/// A round of one rank.
struct RoundOf {
  Rank rank = 0;          ///< The rank.
  std::size_t index = 0;  ///< The number of the round.
};

/// Which rounds start early.
enum class Pace : std::uint8_t {
  own,    ///< Rounds of schedules that are not paced, once their slots are free.
  strict  ///< None: all rounds run in sequence.
};

/// Visits the rounds of all ranks in an order in which messages are sent before they are received.
/// A rank sends and receives in the order of its rounds, even if a round starts early.
/// @tparam Pricing has `Value busy(RoundOf, span<const Step>, Value start)`, the time when the rank
/// has sent and received its own part of a round; `Value later(Value, Value)`; `Value done(RoundOf,
/// span<const Step>, Value)`, the time when it has reduced too; and `void matched(RoundOf from,
/// RoundOf to, Value sent)`, called for each message. Value{} is the beginning. If messages take
/// time on their path, it also has `Value arrives(RoundOf from, Rank to, Value sent)`.
template <class Value, class Pricing>
class Flow {
 public:
  /// @param schedules of all ranks. For a rotational algorithm on `size` ranks, that of rank 0 is
  /// enough: what rank 0 receives equals one of its own messages.
  Flow(std::span<const Schedule> schedules, int size, Pricing& pricing, Pace pace = Pace::own)
      : schedules_{schedules}, size_{size}, pricing_{pricing}, pace_{pace},
        ranks_(schedules.size()) {}

  /// Runs to the end. Throws Error{invalid_argument} if a receive has no send. @return the end of
  /// each rank that has a schedule.
  std::vector<Value> run() {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      find_before(schedules_[rank], ranks_[rank]);
      ready_.push_back(static_cast<Rank>(rank));
    }
    while (!ready_.empty()) {
      const Rank rank = ready_.back();
      ready_.pop_back();
      for (bool goes_on = true; goes_on;) goes_on = advance(rank);
    }
    std::vector<Value> ends;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      if (ranks_[rank].round < schedules_[rank].rounds()) reject(static_cast<Rank>(rank));
      ends.push_back(ranks_[rank].end);
    }
    return ends;
  }

 private:
  /// A message that its receiver has not taken into account.
  struct PostedSend {
    Value sent;
    std::size_t round;
  };
  /// The rounds of one rank, as far as they are predicted.
  struct RankTimeline {
    std::size_t round = 0;
    bool posted = false;                  // the sends of this round have started
    Value now{};                          // the end of the posted round, as far as known
    Value busy{};                         // when earlier messages are paid for
    Value end{};                          // of all rounds so far
    std::vector<Value> ends{};            // of each round, unless rounds run in sequence
    std::vector<std::uint32_t> before{};  // rounds that each depends on, one list after the other
    std::vector<std::size_t> lists{};     // the end of each round's list in `before`
    std::vector<Rank> awaited{};          // ranks whose messages this round still needs, descending
    std::multimap<Rank, PostedSend> inbox{};  // by sender, in the order of sending
  };

  /// Advances one rank by a round; false if it is finished or must wait.
  bool advance(Rank rank) {
    RankTimeline& state = ranks_[static_cast<std::size_t>(rank)];
    const Schedule& schedule = schedules_[static_cast<std::size_t>(rank)];
    if (state.round == schedule.rounds()) return false;
    const std::span<const Step> round = schedule.round(state.round);
    const RoundOf self{rank, state.round};
    if (!state.posted) post(self, round, state);
    while (!state.awaited.empty()) {
      const Rank sender = state.awaited.back();
      const auto first = state.inbox.lower_bound(sender);  // its first message
      if (first == state.inbox.end() || first->first != sender) return false;
      pricing_.matched({sender, first->second.round}, self, first->second.sent);
      state.now = pricing_.later(state.now, first->second.sent);
      state.inbox.erase(first);
      state.awaited.pop_back();
    }
    state.now = pricing_.done(self, round, state.now);
    state.end = pricing_.later(state.end, state.now);
    if (!is_strict(schedule)) state.ends.push_back(state.now);
    state.posted = false;
    ++state.round;
    return true;
  }

  [[nodiscard]] bool is_strict(const Schedule& schedule) const noexcept {
    return pace_ == Pace::strict || schedule.paced();
  }
  /// Finds the rounds that each round depends on. Times do not change them, so this is done rank by
  /// rank, and only the accesses of one rank are in memory.
  void find_before(const Schedule& schedule, RankTimeline& state) const {
    if (is_strict(schedule)) return;
    detail::LastAccesses last;
    std::vector<std::uint32_t> before;
    for (std::size_t index = 0; index < schedule.rounds(); ++index) {
      const detail::Accesses accesses = accesses_of(schedule.round(index));
      before.clear();
      last.collect(accesses, before);
      last.note(accesses, static_cast<std::uint32_t>(index));
      std::ranges::sort(before);
      const auto end = std::unique(before.begin(), before.end());
      state.before.insert(state.before.end(), before.begin(), end);
      state.lists.push_back(state.before.size());
    }
  }

  /// The time when a round may start.
  Value start_of(RoundOf self, const RankTimeline& state) {
    if (is_strict(schedules_[static_cast<std::size_t>(self.rank)])) return state.end;
    Value start = state.busy;
    const std::size_t first = self.index == 0 ? 0 : state.lists[self.index - 1];
    for (std::size_t i = first; i < state.lists[self.index]; ++i)
      start = pricing_.later(start, state.ends[state.before[i]]);
    return start;
  }

  void post(RoundOf self, std::span<const Step> round, RankTimeline& state) {
    state.busy = pricing_.busy(self, round, start_of(self, state));
    state.now = state.busy;
    state.posted = true;
    find_peers(round, false, state.awaited);
    std::reverse(state.awaited.begin(), state.awaited.end());
    find_peers(round, true, receivers_);
    for (const Rank peer : receivers_) {
      if (peer < 0 || peer >= size_)
        throw Error{
            ErrorCode::invalid_argument,
            where(self) + "sends to rank " + std::to_string(peer) + " of " + std::to_string(size_)};
      const bool one_for_all = static_cast<int>(ranks_.size()) < size_;
      const Rank target = one_for_all ? self.rank : peer;
      const Rank source = one_for_all ? (size_ - peer) % size_ : self.rank;
      ranks_[static_cast<std::size_t>(target)].inbox.emplace(
          source, PostedSend{arrival(self, peer), self.index});
      if (target != self.rank) ready_.push_back(target);
    }
  }

  /// The time when a message of a posted round is at the peer.
  Value arrival(RoundOf self, Rank peer) {
    const Value& sent = ranks_[static_cast<std::size_t>(self.rank)].now;
    if constexpr (requires { pricing_.arrives(self, peer, sent); })
      return pricing_.arrives(self, peer, sent);
    else return sent;
  }

  [[nodiscard]] static std::string where(RoundOf at) {
    return "rank " + std::to_string(at.rank) + ", round " + std::to_string(at.index) + ": ";
  }
  [[noreturn]] void reject(Rank rank) const {
    const RankTimeline& state = ranks_[static_cast<std::size_t>(rank)];
    throw Error{ErrorCode::invalid_argument,
                where({rank, state.round}) + "waits for rank " +
                    std::to_string(state.awaited.back()) + ", which never sends it",
                rank};
  }

  std::span<const Schedule> schedules_;
  int size_;
  Pricing& pricing_;
  Pace pace_;
  std::vector<RankTimeline> ranks_;
  std::vector<Rank> ready_{};
  std::vector<Rank> receivers_{};  // of the round that is being posted
};

}  // namespace tutti::v0
