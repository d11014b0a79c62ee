#include "verify_lockstep.hpp"

#include <cstddef>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace tutti::verifying {
namespace {

/// Rounds of all ranks. Rounds that a message connects are joined into one.
class Rounds {
 public:
  explicit Rounds(std::span<const Schedule> schedules) {
    std::size_t rounds = 0;
    for (const Schedule& schedule : schedules) {
      first_.push_back(rounds);
      rounds += schedule.rounds();
    }
    first_.push_back(rounds);
    joined_.resize(rounds);
    std::iota(joined_.begin(), joined_.end(), std::size_t{0});
    for (std::size_t rank = 0; rank < schedules.size(); ++rank) find(rank, schedules[rank]);
    for (const auto& [way, sent] : sent_) {
      const std::vector<std::size_t>& received = received_[way];
      for (std::size_t i = 0; i < sent.size(); ++i) joined_[root(sent[i])] = root(received[i]);
    }
  }

  /// @return the first rank whose round comes after itself, or the number of ranks.
  [[nodiscard]] std::size_t find_cycle() {
    std::vector<std::vector<std::size_t>> next(joined_.size());
    std::vector<std::size_t> needs(joined_.size()), ready;
    for_each_pair([&](std::size_t round) {
      next[root(round)].push_back(root(round + 1));
      ++needs[root(round + 1)];
    });
    for (std::size_t i = 0; i < needs.size(); ++i)
      if (needs[i] == 0) ready.push_back(i);
    while (!ready.empty()) {
      const std::size_t round = ready.back();
      ready.pop_back();
      for (const std::size_t later : next[round])
        if (--needs[later] == 0) ready.push_back(later);
    }
    for (std::size_t rank = 0; rank + 1 < first_.size(); ++rank)
      for (std::size_t round = first_[rank]; round < first_[rank + 1]; ++round)
        if (needs[root(round)] > 0) return rank;
    return first_.size() - 1;
  }

 private:
  /// All sends of a round to one peer are one message.
  void find(std::size_t rank, const Schedule& schedule) {
    for (std::size_t round = 0; round < schedule.rounds(); ++round)
      for (const Step& step : schedule.round(round)) {
        if (!step.has_peer()) continue;
        const auto peer = static_cast<std::size_t>(step.peer());
        const bool is_send = step.kind() == Step::Kind::send;
        auto& list = is_send ? sent_[{rank, peer}] : received_[{peer, rank}];
        const std::size_t number = first_[rank] + round;
        if (list.empty() || list.back() != number) list.push_back(number);
      }
  }
  [[nodiscard]] std::size_t root(std::size_t round) {
    while (joined_[round] != round) round = joined_[round] = joined_[joined_[round]];
    return round;
  }
  template <class Visit>
  void for_each_pair(Visit visit) const {
    for (std::size_t rank = 0; rank + 1 < first_.size(); ++rank)
      for (std::size_t round = first_[rank]; round + 1 < first_[rank + 1]; ++round) visit(round);
  }

  std::vector<std::size_t> first_{};   // by rank
  std::vector<std::size_t> joined_{};  // a forest
  std::map<std::pair<std::size_t, std::size_t>, std::vector<std::size_t>> sent_{}, received_{};
};

}  // namespace

Property check_lockstep(std::span<const Schedule> schedules) {
  const std::size_t rank = Rounds{schedules}.find_cycle();
  if (rank == schedules.size()) return {};
  return {.holds = false,
          .counterexample = "rank " + std::to_string(rank) +
                            " cannot go through its rounds together with those of the others"};
}

}  // namespace tutti::verifying
