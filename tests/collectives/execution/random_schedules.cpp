#include "tests/collectives/execution/random_schedules.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "backends/sim/random.hpp"

namespace tutti::samples {
namespace {

/// Units [first, first + count) of a vector.
struct Piece {
  std::uint32_t first;
  std::uint32_t count;
};

template <class T>
void shuffle(std::vector<T>& list, sim::Random& random) {
  for (std::size_t i = list.size(); i > 1; --i)
    std::swap(list[i - 1], list[static_cast<std::size_t>(random.below(i))]);
}

/// Writes down the schedules of all ranks, one event after the other, so that there is no deadlock.
class Reduction {
 public:
  explicit Reduction(std::uint64_t seed) : random_{seed} {}
  Sample build();

 private:
  /// An operand of a fold, and who sends it.
  struct Operand {
    std::size_t group;
    Piece piece;
    Step step;
    bool direct;  // received by the fold itself
  };

  [[nodiscard]] std::uint32_t below(std::uint64_t bound) {
    return static_cast<std::uint32_t>(random_.below(bound));
  }
  [[nodiscard]] bool chance(std::uint64_t one_in) { return random_.below(one_in) == 0; }
  [[nodiscard]] Schedule& of(Rank rank) {
    return sample_.schedules[static_cast<std::size_t>(rank)];
  }
  /// A piece of the partial result that a rank holds.
  [[nodiscard]] Slots home(Rank rank, const Piece& piece) const {
    const bool is_out = in_out_[static_cast<std::size_t>(rank)];
    return {is_out ? Space::out : Space::scratch, piece.first, piece.count};
  }
  /// A piece of the plane where the operand of a group waits; plane 0 is for partial results.
  [[nodiscard]] Slots waiting(std::size_t group, const Piece& piece) const {
    const auto plane = static_cast<std::uint32_t>(group) + 1;
    return {Space::scratch, plane * units_ + piece.first, piece.count};
  }

  void exchange();
  void choose_homes();
  [[nodiscard]] std::vector<Piece> pieces();
  void merge();
  [[nodiscard]] std::vector<Operand> operands(std::size_t first, std::size_t last,
                                              std::size_t receiver);
  void fold(const std::vector<Operand>& list, std::size_t receiver);
  void finish(Rank rank, const Slots& slots);
  void deliver(Rank holder);
  void hand_over(Rank holder, Rank target, const Piece& piece, bool finished);

  sim::Random random_;
  Sample sample_{};
  std::uint32_t units_ = 1;
  std::vector<bool> in_out_{};  // per rank: whether its partial result is in `out`
  std::vector<Rank> groups_{};  // who holds the partial results, in the order of ranks
};

Sample Reduction::build() {
  constexpr Collective kAll[] = {Collective::reduce, Collective::all_reduce,
                                 Collective::reduce_scatter};
  const Collective collective = kAll[below(3)];
  const int size = 2 + static_cast<int>(below(3));
  const bool is_rooted = collective == Collective::reduce;
  sample_.contract = {collective, size,
                      is_rooted ? static_cast<Rank>(below(static_cast<std::uint64_t>(size))) : 0};
  units_ = sample_.contract.blocks() * (1 + below(3));
  const auto planes = static_cast<std::uint32_t>(size) + 1;
  sample_.schedules.assign(static_cast<std::size_t>(size), Schedule{units_, planes});
  if (collective == Collective::all_reduce && chance(3)) {
    exchange();
  } else {
    choose_homes();
    while (groups_.size() > 1) merge();
    deliver(groups_.front());
  }
  return std::move(sample_);
}

/// Every rank sends all to every rank and folds it alike, but may finish it otherwise.
void Reduction::exchange() {
  const std::vector<Piece> cut = pieces();
  const int size = sample_.contract.size;
  for (Rank self = 0; self < size; ++self) {
    for (Rank peer = 0; peer < size; ++peer) {
      if (peer == self) continue;
      for (const Piece& piece : cut) {
        const Slots into{Space::out, piece.first, piece.count};
        of(self).add(Send{peer, {Space::in, piece.first, piece.count}});
        of(self).add(RecvReduce{peer, into, peer < self ? Side::left : Side::right});
      }
    }
    of(self).end_round();
    for (const Piece& piece : pieces()) finish(self, {Space::out, piece.first, piece.count});
  }
}

void Reduction::choose_homes() {
  for (Rank rank = 0; rank < sample_.contract.size; ++rank) {
    groups_.push_back(rank);
    in_out_.push_back(!chance(3));
    const Piece all{0, units_};
    if (!in_out_.back()) of(rank).round({Copy{{Space::in, 0, units_}, home(rank, all)}});
  }
}

std::vector<Piece> Reduction::pieces() {
  std::vector<Piece> list{};
  for (std::uint32_t first = 0; first < units_;) {
    const std::uint32_t count = chance(2) ? units_ - first : 1 + below(units_ - first);
    list.push_back({first, count});
    first += count;
  }
  if (chance(2)) shuffle(list, random_);
  return list;
}

/// Several neighbouring partial results become one, at one of their holders.
void Reduction::merge() {
  const std::size_t width = 2 + below(groups_.size() - 1);
  const std::size_t first = below(groups_.size() - width + 1);
  const std::size_t receiver = first + below(width);
  const Rank holder = groups_[receiver];
  fold(operands(first, first + width, receiver), receiver);
  const auto begin = groups_.begin() + static_cast<std::ptrdiff_t>(first);
  *begin = holder;
  groups_.erase(begin + 1, begin + static_cast<std::ptrdiff_t>(width));
}

std::vector<Reduction::Operand> Reduction::operands(std::size_t first, std::size_t last,
                                                    std::size_t receiver) {
  const std::vector<Piece> cut = pieces();
  std::vector<bool> direct(last);
  for (std::size_t group = first; group < last; ++group) direct[group] = chance(2);
  const bool wrong_sides = chance(8);
  std::vector<Operand> list{};
  const auto add = [&](std::size_t group, const Piece& piece) {
    if (group == receiver) return;
    const bool is_left = wrong_sides ? chance(2) : group < receiver;
    const Side side = is_left ? Side::left : Side::right;
    const Slots into = home(groups_[receiver], piece);
    const Step step = direct[group] ? Step{RecvReduce{groups_[group], into, side}}
                                    : Step{Reduce{waiting(group, piece), into, side}};
    list.push_back({group, piece, step, direct[group]});
  };
  if (chance(2)) {
    for (const Piece& piece : cut)
      for (std::size_t group = first; group < last; ++group) add(group, piece);
  } else {
    for (std::size_t group = first; group < last; ++group)
      for (const Piece& piece : cut) add(group, piece);
  }
  if (chance(8)) shuffle(list, random_);
  return list;
}

/// Operands that the fold does not receive are received before it, in one round or in several.
void Reduction::fold(const std::vector<Operand>& list, std::size_t receiver) {
  const Rank self = groups_[receiver];
  const bool one_round = chance(2);
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    for (const Operand& operand : list) {
      if (operand.group != group) continue;
      of(groups_[group]).add(Send{self, home(groups_[group], operand.piece)});
      if (!operand.direct) of(self).add(Recv{groups_[group], waiting(group, operand.piece)});
    }
    if (group != receiver) of(groups_[group]).end_round();
    if (!one_round) of(self).end_round();
  }
  of(self).end_round();
  for (const Operand& operand : list) of(self).add(operand.step);
  of(self).end_round();
}

/// With the last round of the rank, or after it.
void Reduction::finish(Rank rank, const Slots& slots) {
  if (chance(2)) of(rank).finish(slots);
  else of(rank).round({Finish{slots}});
}

void Reduction::deliver(Rank holder) {
  const bool finished = chance(2);
  if (finished)
    for (const Piece& piece : pieces()) finish(holder, home(holder, piece));
  const Contract& contract = sample_.contract;
  const std::uint32_t parts = units_ / contract.blocks();
  for (Rank target = 0; target < contract.size; ++target)
    for (std::uint32_t block = 0; block < contract.blocks(); ++block)
      if (contract.wants_output(target, block) && target != holder)
        hand_over(holder, target, {block * parts, parts}, finished);
  // The own result last: until then the others' may still be sent unfinished.
  for (std::uint32_t block = 0; block < contract.blocks(); ++block)
    if (contract.wants_output(holder, block))
      hand_over(holder, holder, {block * parts, parts}, finished);
}

void Reduction::hand_over(Rank holder, Rank target, const Piece& piece, bool finished) {
  const Slots from = home(holder, piece);
  const Slots into{Space::out, piece.first, piece.count};
  if (target != holder) {
    of(holder).round({Send{target, from}});
    of(target).round({Recv{holder, into}});
  } else if (from.space == Space::scratch) {
    of(holder).round({Copy{from, into}});
  }
  if (!finished) finish(target, into);
}

/// One step as two, where it has several slots.
void cut_step(std::vector<Step>& round, std::size_t index, sim::Random& random) {
  const Step step = round[index];
  const Slots all = step.slots();
  if (all.count < 2) return;
  const auto front = static_cast<std::uint32_t>(1 + random.below(all.count - 1));
  const auto part = [&](std::uint32_t skip, std::uint32_t count) -> Step {
    const Slots slots{all.space, all.first + skip, count};
    const Slots from{step.from().space, step.from().first + skip, count};
    if (step.kind() == Step::Kind::reduce) return Reduce{from, slots, step.side()};
    if (step.kind() == Step::Kind::copy) return Copy{from, slots};
    return with_slots(step, slots);
  };
  round[index] = part(0, front);
  round.insert(round.begin() + static_cast<std::ptrdiff_t>(index) + 1,
               part(front, all.count - front));
}

}  // namespace

Sample random_reduction(std::uint64_t seed) {
  return Reduction{seed}.build();
}

Sample relisted(Sample sample, std::uint64_t seed) {
  sim::Random random{seed};
  for (auto changes = 1 + random.below(3); changes > 0; --changes) {
    Schedule& schedule = sample.schedules[random.below(sample.schedules.size())];
    Rounds rounds = rounds_of(schedule);
    if (rounds.empty()) continue;
    const std::size_t at = random.below(rounds.size());
    std::vector<Step>& round = rounds[at];
    const std::size_t index = random.below(round.size());
    switch (random.below(3)) {
      case 0: std::swap(round[index], round[random.below(round.size())]); break;
      case 1: cut_step(round, index, random); break;
      default:
        if (at + 1 == rounds.size()) break;
        round.insert(round.end(), rounds[at + 1].begin(), rounds[at + 1].end());
        rounds.erase(rounds.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    }
    schedule = schedule_of(rounds, schedule);
  }
  return sample;
}

}  // namespace tutti::samples
