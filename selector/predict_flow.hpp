/// @file
/// The data flow of a collective: when each rank's rounds start and end, without lock step. The
/// price of a round is a parameter, so that times, counts and drawing positions come from one
/// recurrence. A round starts as its program does (program_builder.hpp): when the earlier ones have
/// ended that touch what it touches, or, where rounds are flow control, when the one before has.
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

/// What one round makes its rank do. The unit of size is the caller's: slots, or bytes.
struct RoundWork {
  std::int64_t messages = 0;  ///< Messages sent; all sends to one peer are one.
  std::int64_t in = 0;        ///< Size received.
  std::int64_t out = 0;       ///< Size sent.
  std::int64_t stored = 0;    ///< Size of what that becomes: operands of one slot are one.
  std::int64_t reduced = 0;   ///< Size of all operands that are reduced into own slots.
};

/// The peers of a round, each once. @param round its steps. @param sending whether the peers of
/// sends or of receives are meant. @param peers is set to them, ascending; reused from round to
/// round.
void find_peers(std::span<const Step> round, bool sending, std::vector<Rank>& peers);

/// @param round its steps. @return messages sent: all sends to one peer are one.
[[nodiscard]] std::int64_t messages_in(std::span<const Step> round);

/// Checks that all ranks cut the vector alike. Throws Error{invalid_argument}.
/// @param schedules of all ranks.
void check_units(std::span<const Schedule> schedules);

/// Adds up a round. @param round its steps. @param size_of gives the size of a Slots.
/// @return the sums.
template <class SizeOf>
[[nodiscard]] RoundWork work_of(std::span<const Step> round, const SizeOf& size_of) {
  RoundWork work;
  std::optional<Slots> folded;  // by the receive before
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

/// @param round its steps. @return what it reads and writes, by slots, as if input and output were
/// the same memory.
[[nodiscard]] detail::Accesses accesses_of(std::span<const Step> round);

/// A round of one rank.
struct RoundOf {
  Rank rank = 0;          ///< The rank.
  std::size_t index = 0;  ///< Which of its rounds.
};

/// Which rounds start early.
enum class Pace : std::uint8_t {
  own,    ///< Those of schedules that are not paced, once what they touch is free.
  strict  ///< None: one after the other.
};

/// Walks the rounds of all ranks in an order in which messages are sent before they are received.
/// A rank sends and receives in the order of its rounds all the same: whatever starts early does so
/// behind what it has to send and receive before.
/// @tparam Pricing gives `Value busy(RoundOf, span<const Step>, Value start)`, when the rank has
/// sent and received all of a round by itself; `Value later(Value, Value)`; `Value done(RoundOf,
/// span<const Step>, Value)`, when it has reduced too; `void matched(RoundOf from, RoundOf to,
/// Value sent)` for each message. Value{} is the beginning. Where messages take time on their
/// way, it has `Value arrives(RoundOf from, Rank to, Value sent)` too.
template <class Value, class Pricing>
class Flow {
 public:
  /// @param schedules of all ranks; or of rank 0 only if `size` is the number of ranks of a
  /// rotational algorithm: every message then finds its like among rank 0's own.
  Flow(std::span<const Schedule> schedules, int size, Pricing& pricing, Pace pace = Pace::own)
      : schedules_{schedules}, size_{size}, pricing_{pricing}, pace_{pace},
        ranks_(schedules.size()) {}

  /// Walks to the end. Throws Error{invalid_argument} where a receive has no send.
  /// @return the end of each rank that was walked.
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
  struct Message {
    Value sent;
    std::size_t round;
  };
  struct State {
    std::size_t round = 0;
    bool posted = false;                  // the sends of this round are on their way
    Value now{};                          // once posted, when the round ends
    Value busy{};                         // until then with what earlier rounds send and receive
    Value end{};                          // of all rounds so far
    std::vector<Value> ends{};            // of each, where later ones need not wait for all
    std::vector<std::uint32_t> before{};  // rounds that each comes after, one list behind the other
    std::vector<std::size_t> lists{};     // where each round's list ends, likewise
    std::vector<Rank> awaited{};          // ranks whose messages this round still needs, descending
    std::multimap<Rank, Message> inbox{};  // by sender, in the order of sending
  };

  /// Goes on with one rank; false where it is finished or has to wait.
  bool advance(Rank rank) {
    State& state = ranks_[static_cast<std::size_t>(rank)];
    const Schedule& schedule = schedules_[static_cast<std::size_t>(rank)];
    if (state.round == schedule.rounds()) return false;
    const std::span<const Step> round = schedule.round(state.round);
    const RoundOf self{rank, state.round};
    if (!state.posted) post(self, round, state);
    while (!state.awaited.empty()) {
      const Rank sender = state.awaited.back();
      const auto first = state.inbox.lower_bound(sender);  // the first sent among its messages
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
  /// Which rounds come after which. No time changes that, so it is found rank by rank, and what has
  /// been touched need not be kept of all ranks at once.
  void find_before(const Schedule& schedule, State& state) const {
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

  /// When a round may start.
  Value start_of(RoundOf self, const State& state) {
    if (is_strict(schedules_[static_cast<std::size_t>(self.rank)])) return state.end;
    Value start = state.busy;
    const std::size_t first = self.index == 0 ? 0 : state.lists[self.index - 1];
    for (std::size_t i = first; i < state.lists[self.index]; ++i)
      start = pricing_.later(start, state.ends[state.before[i]]);
    return start;
  }

  void post(RoundOf self, std::span<const Step> round, State& state) {
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
          source, Message{arrival(self, peer), self.index});
      if (target != self.rank) ready_.push_back(target);
    }
  }

  /// When what a round sends to a peer is there, once it is posted.
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
    const State& state = ranks_[static_cast<std::size_t>(rank)];
    throw Error{ErrorCode::invalid_argument,
                where({rank, state.round}) + "waits for rank " +
                    std::to_string(state.awaited.back()) + ", which never sends it",
                rank};
  }

  std::span<const Schedule> schedules_;
  int size_;
  Pricing& pricing_;
  Pace pace_;
  std::vector<State> ranks_;
  std::vector<Rank> ready_{};
  std::vector<Rank> receivers_{};  // of the round that is being posted
};

}  // namespace tutti::v0
