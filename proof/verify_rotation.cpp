#include <algorithm>

#include "verify_results.hpp"
#include "verify_slots.hpp"

namespace tutti::verifying {
namespace {

/// Maps ranks and slots of one rank to those of rank 0.
class Unshift {
 public:
  Unshift(const Contract& contract, std::uint32_t units, std::size_t rank)
      : size_{static_cast<std::uint32_t>(contract.size)}, units_{units},
        rank_{static_cast<std::uint32_t>(rank)}, pairs_{is_between_pairs(contract.collective)} {
    // A vector that is not cut into one piece per rank is the same for all ranks.
    const std::uint32_t pieces = pairs_ ? size_ * size_ : size_;
    per_piece_ = units % pieces == 0 ? units / pieces : 0;
  }

  [[nodiscard]] std::uint32_t rank(Rank rank) const {
    return (static_cast<std::uint32_t>(rank) + size_ - rank_) % size_;
  }
  [[nodiscard]] std::uint32_t slot(const Slots& slots, std::uint32_t index) const {
    const std::uint32_t all = slots.first + index;
    const std::uint32_t unit = unit_of(slots, index, units_);
    if (per_piece_ == 0) return all;
    const std::uint32_t piece = unit / per_piece_;
    const std::uint32_t part = unit % per_piece_;
    const std::uint32_t moved =
        pairs_ ? back(piece / size_) * size_ + back(piece % size_) : back(piece);
    return all - unit + moved * per_piece_ + part;
  }

 private:
  [[nodiscard]] std::uint32_t back(std::uint32_t rank) const {
    return (rank + size_ - rank_) % size_;
  }

  std::uint32_t size_;
  std::uint32_t units_;
  std::uint32_t rank_;
  bool pairs_;
  std::uint32_t per_piece_ = 0;
};

}  // namespace

void RotationCheck::collect(const Question& question, std::size_t rank, std::size_t round,
                            std::vector<Key>& keys) const {
  keys.clear();
  const Schedule& schedule = question.schedules[rank];
  const Unshift unshift{question.contract, schedule.units(), rank};
  for (const Step& step : schedule.round(round)) {
    const bool local = is_local(step.kind());
    std::uint64_t what = static_cast<std::uint64_t>(step.kind()) << 8 |
                         static_cast<std::uint64_t>(step.slots().space) << 4 |
                         (local ? static_cast<std::uint64_t>(step.from().space) : 0);
    if (step.has_peer()) what |= std::uint64_t{unshift.rank(step.peer())} << 16;
    for (std::uint32_t i = 0; i < step.slots().count; ++i) {
      const std::uint64_t from = local ? unshift.slot(step.from(), i) : 0;
      keys.push_back({what, std::uint64_t{unshift.slot(step.slots(), i)} << 32 | from});
    }
  }
  std::sort(keys.begin(), keys.end());
}

Property RotationCheck::check(const Question& question) {
  const std::size_t rounds = question.schedules[0].rounds();
  for (std::size_t rank = 1; rank < question.schedules.size(); ++rank)
    if (question.schedules[rank].rounds() != rounds)
      return {false, text_of(FindingPlace{.rank = static_cast<Rank>(rank)}) +
                         ": its rounds differ from those of rank 0"};
  for (std::size_t round = 0; round < rounds; ++round) {
    collect(question, 0, round, first_);
    for (std::size_t rank = 1; rank < question.schedules.size(); ++rank) {
      collect(question, rank, round, other_);
      if (first_ == other_) continue;
      const FindingPlace place{.rank = static_cast<Rank>(rank),
                               .round = static_cast<std::int64_t>(round)};
      return {false, text_of(place) + ": is not rank 0's round, shifted"};
    }
  }
  return {};
}

}  // namespace tutti::verifying
