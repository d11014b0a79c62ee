#include "program_values.hpp"

#include <algorithm>
#include <deque>
#include <numeric>
#include <optional>
#include <utility>

#include <tutti/error.hpp>

namespace tutti::v0::detail {

Node Expressions::fold(const std::vector<Node>& operands, bool finish) {
  if (operands.size() == 1 && !finish) return operands.front();
  std::vector<Node> words{1, finish ? 1U : 0U};
  words.insert(words.end(), operands.begin(), operands.end());
  return number(std::move(words));
}

Elements::Elements(const ProgramQuestion& question) : question_{question} {
  std::size_t first = 0;
  for (const std::size_t count : question.counts) {
    first_.push_back(first);
    first += count;
  }
}

std::vector<std::size_t> Elements::of_unit(std::uint32_t unit, std::uint32_t parts) const {
  const std::uint32_t block = unit / parts;
  const Partition segments{question_.counts[block], question_.segments};
  const Partition cut{segments.size(question_.segment), parts};
  std::vector<std::size_t> elements(cut.size(unit % parts));
  std::iota(elements.begin(), elements.end(),
            first_[block] + segments.offset(question_.segment) + cut.offset(unit % parts));
  return elements;
}

std::vector<std::size_t> Elements::of_buffer(Rank rank, bool is_input) const {
  std::vector<std::size_t> elements;
  for (std::uint32_t block = 0; block < first_.size(); ++block) {
    const bool has = is_input ? question_.contract.has_input(rank, block)
                              : question_.contract.wants_output(rank, block);
    if (!has) continue;
    const std::size_t before = elements.size();
    elements.resize(before + question_.counts[block]);
    std::iota(elements.begin() + static_cast<std::ptrdiff_t>(before), elements.end(),
              first_[block]);
  }
  return elements;
}

namespace {

using Nodes = std::vector<Node>;  // of the elements of a slot

/// The rounds of all ranks, as if messages were buffered.
class RoundsRun {
 public:
  RoundsRun(const ProgramQuestion& question, const Elements& elements, Expressions& expressions)
      : question_{question}, expressions_{expressions}, units_{question.schedules[0].units()},
        parts_{units_ / question.contract.blocks()} {
    for (std::uint32_t unit = 0; unit < units_; ++unit)
      elements_.push_back(elements.of_unit(unit, parts_));
    for (std::size_t rank = 0; rank < question.schedules.size(); ++rank)
      ranks_.emplace_back().slots.resize(units_ * (1 + question.schedules[rank].planes()));
    queues_.resize(ranks_.size() * ranks_.size());
  }

  void run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
        while (step(rank)) moved = true;
    }
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
      expects(ranks_[rank].round == question_.schedules[rank].rounds(),
              "schedules that were verified come to their end");
  }

  [[nodiscard]] Nodes result(std::size_t rank, std::uint32_t unit) {
    return read(rank, Space::out, unit);
  }
  [[nodiscard]] std::uint32_t units() const noexcept { return units_; }
  [[nodiscard]] std::uint32_t parts() const noexcept { return parts_; }

 private:
  struct RankState {
    std::size_t round = 0;
    bool has_sent = false;
    std::vector<std::optional<Nodes>> slots{};  // out, then the planes of scratch
  };
  /// The effect of a round on one slot.
  struct Made {
    std::vector<Nodes> left{}, right{};
    std::optional<Nodes> moved{};
    bool finish = false;
  };

  [[nodiscard]] std::size_t slot_of(Space space, std::uint32_t index) const {
    return space == Space::scratch ? units_ + index : index;
  }
  [[nodiscard]] Nodes read(std::size_t rank, Space space, std::uint32_t index) {
    if (space != Space::in)
      if (const auto& slot = ranks_[rank].slots[slot_of(space, index)]) return *slot;
    Nodes nodes;
    for (const std::size_t element : elements_[index % units_])
      nodes.push_back(expressions_.leaf(rank, element));
    return nodes;
  }
  std::deque<Nodes>& queue(std::size_t from, std::size_t to) {
    return queues_[from * ranks_.size() + to];
  }

  /// Sends what a round sends, and ends it where all that it receives is there.
  bool step(std::size_t rank) {
    RankState& state = ranks_[rank];
    if (state.round == question_.schedules[rank].rounds()) return false;
    const std::span<const Step> steps = question_.schedules[rank].round(state.round);
    if (!std::exchange(state.has_sent, true))
      for (const Step& step : steps)
        if (step.kind() == Step::Kind::send)
          for (std::uint32_t k = 0; k < step.slots().count; ++k)
            queue(rank, static_cast<std::size_t>(step.peer()))
                .push_back(read(rank, step.slots().space, step.slots().first + k));
    std::map<Rank, std::size_t> wanted;
    for (const Step& step : steps)
      if (step.has_peer() && step.kind() != Step::Kind::send)
        wanted[step.peer()] += step.slots().count;
    for (const auto& [peer, count] : wanted)
      if (queue(static_cast<std::size_t>(peer), rank).size() < count) return false;
    end_round(rank, steps);
    ++state.round;
    state.has_sent = false;
    return true;
  }

  void end_round(std::size_t rank, std::span<const Step> steps) {
    std::map<std::pair<Space, std::uint32_t>, Made> made;
    for (const Step& step : steps) {
      for (std::uint32_t k = 0; k < step.slots().count; ++k) {
        if (step.kind() == Step::Kind::send) continue;
        Made& slot = made[{step.slots().space, step.slots().first + k}];
        if (step.kind() == Step::Kind::finish) {
          slot.finish = true;
          continue;
        }
        Nodes nodes;
        if (step.has_peer()) {
          std::deque<Nodes>& messages = queue(static_cast<std::size_t>(step.peer()), rank);
          nodes = std::move(messages.front());
          messages.pop_front();
        } else {
          nodes = read(rank, step.from().space, step.from().first + k);
        }
        if (step.kind() == Step::Kind::recv || step.kind() == Step::Kind::copy)
          slot.moved = std::move(nodes);
        else (step.side() == Side::left ? slot.left : slot.right).push_back(std::move(nodes));
      }
    }
    std::vector<std::pair<std::size_t, Nodes>> written;
    for (auto& [where, slot] : made)
      written.emplace_back(slot_of(where.first, where.second),
                           value_of(slot, read(rank, where.first, where.second)));
    for (auto& [slot, nodes] : written) ranks_[rank].slots[slot] = std::move(nodes);
  }

  [[nodiscard]] Nodes value_of(const Made& slot, Nodes own) {
    if (slot.moved) own = *slot.moved;
    for (std::size_t i = 0; i < own.size(); ++i) {
      Nodes operands;
      for (const Nodes& left : slot.left) operands.push_back(left[i]);
      operands.push_back(own[i]);
      for (const Nodes& right : slot.right) operands.push_back(right[i]);
      own[i] = expressions_.fold(operands, slot.finish);
    }
    return own;
  }

  const ProgramQuestion& question_;
  Expressions& expressions_;
  std::uint32_t units_;
  std::uint32_t parts_;
  std::vector<std::vector<std::size_t>> elements_{};  // by unit
  std::vector<RankState> ranks_{};
  std::vector<std::deque<Nodes>> queues_{};  // slots, by sender and receiver
};

}  // namespace

std::vector<std::vector<Node>> play_schedules(const ProgramQuestion& question,
                                              const Elements& elements, Expressions& expressions) {
  RoundsRun rounds{question, elements, expressions};
  rounds.run();
  const std::size_t all =
      std::accumulate(question.counts.begin(), question.counts.end(), std::size_t{0});
  std::vector<std::vector<Node>> results(question.ranks.size(), std::vector<Node>(all, kNoNode));
  for (std::size_t rank = 0; rank < results.size(); ++rank)
    for (std::uint32_t unit = 0; unit < rounds.units(); ++unit) {
      if (!question.contract.wants_output(static_cast<Rank>(rank), unit / rounds.parts())) continue;
      const Nodes nodes = rounds.result(rank, unit);
      const std::vector<std::size_t> where = elements.of_unit(unit, rounds.parts());
      for (std::size_t i = 0; i < where.size(); ++i) results[rank][where[i]] = nodes[i];
    }
  return results;
}

}  // namespace tutti::v0::detail
