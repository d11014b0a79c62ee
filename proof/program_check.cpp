#include "program_check.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "program_graph.hpp"
#include "program_values.hpp"

namespace tutti::inline v0::detail {
namespace {

/// A run of elements of one memory of a rank.
struct ElementRun {
  std::size_t memory = 0;  // of the rank
  std::size_t first = 0;
  std::size_t count = 0;
};

/// The memory of one rank, each element an expression.
class MemoryOfRank {
 public:
  MemoryOfRank(const ProgramQuestion& question, const Elements& elements, std::size_t rank,
               Expressions& expressions)
      : rank_{question.ranks[rank]}, element_bytes_{question.element_bytes},
        input_{elements.of_buffer(static_cast<Rank>(rank), true)}, output_{elements.of_buffer(
                                                                       static_cast<Rank>(rank),
                                                                       false)} {
    Nodes& in = memories_[0];
    for (const std::size_t element : input_) in.push_back(expressions.leaf(rank, element));
    memories_[1].assign(output_.size(), kNoNode);
    memories_[2].assign(rank_.program->held_bytes / element_bytes_, kNoNode);
    if (!rank_.in_place || input_.empty() || output_.empty()) return;
    place_together();
  }

  /// @return where elements lie. Nothing where that is outside of the memory there is.
  [[nodiscard]] std::optional<ElementRun> find(const Place& place, std::size_t count) const {
    std::size_t memory = static_cast<std::size_t>(place.base);
    if (memory >= memories_.size() || place.offset % element_bytes_ != 0) return std::nullopt;
    std::size_t first = place.offset / element_bytes_;
    if (place.base != Base::held) first += rank_.shift / element_bytes_;
    const std::size_t size = place.base == Base::in    ? input_.size()
                             : place.base == Base::out ? output_.size()
                                                       : memories_[2].size();
    if (first + count > size) return std::nullopt;
    if (place.base == Base::in) first += in_at_;
    if (place.base == Base::out) first += out_at_;
    if (is_together_ && place.base == Base::out) memory = 0;
    return ElementRun{memory, first, count};
  }
  [[nodiscard]] Node& at(const ElementRun& stretch, std::size_t index) {
    return memories_[stretch.memory][stretch.first + index];
  }
  /// @return by element of the output: its number in the whole vector.
  [[nodiscard]] const std::vector<std::size_t>& output() const noexcept { return output_; }

 private:
  using Nodes = std::vector<Node>;
  /// In place an element of the output that is one of the input too stands where that does.
  void place_together() {
    is_together_ = true;
    const auto in = std::ranges::find(input_, output_.front());
    const auto out = std::ranges::find(output_, input_.front());
    if (in != input_.end()) out_at_ = static_cast<std::size_t>(in - input_.begin());
    else if (out != output_.end()) in_at_ = static_cast<std::size_t>(out - output_.begin());
    Nodes together(std::max(in_at_ + input_.size(), out_at_ + output_.size()), kNoNode);
    std::ranges::copy(memories_[0], together.begin() + static_cast<std::ptrdiff_t>(in_at_));
    memories_[0] = std::move(together);
  }

  ProgramOfRank rank_;
  std::size_t element_bytes_;
  std::vector<std::size_t> input_;
  std::vector<std::size_t> output_;
  bool is_together_ = false;
  std::size_t in_at_ = 0;
  std::size_t out_at_ = 0;
  std::array<Nodes, 3> memories_{};  // in, or both; out; held
};

class ProgramCheck {
 public:
  explicit ProgramCheck(const ProgramQuestion& question)
      : question_{question}, elements_{question}, graph_{question} {
    for (std::size_t rank = 0; rank < question.ranks.size(); ++rank)
      memories_.emplace_back(question, elements_, rank, expressions_);
  }

  std::string run() {
    if (!graph_.problem().empty()) return graph_.problem();
    for (std::size_t rank = 0; rank < memories_.size() && problem_.empty(); ++rank)
      check_accesses(rank);
    if (problem_.empty()) play();
    if (problem_.empty()) compare();
    return problem_;
  }

 private:
  struct Access {
    ElementRun where{};
    std::uint32_t operation = 0;
    bool writes = false;
  };

  void note(std::size_t rank, std::uint32_t operation, const std::string& text) {
    if (problem_.empty())
      problem_ = "rank " + std::to_string(rank) + ", operation " + std::to_string(operation) +
                 " of round " +
                 std::to_string(question_.ranks[rank].program->operations[operation].round) + ": " +
                 text;
  }

  /// Every two accesses of which one writes are ordered.
  void check_accesses(std::size_t rank) {
    std::vector<Access> accesses = accesses_of(rank);
    std::ranges::sort(accesses, {}, [](const Access& access) {
      return std::pair{access.where.memory, access.where.first};
    });
    for (std::size_t i = 0; i < accesses.size(); ++i)
      for (std::size_t k = i + 1; k < accesses.size(); ++k) {
        const Access &a = accesses[i], &b = accesses[k];
        if (b.where.memory != a.where.memory || b.where.first >= a.where.first + a.where.count)
          break;
        if ((!a.writes && !b.writes) || a.operation == b.operation) continue;
        const std::size_t first = graph_.first_of(rank);
        if (!graph_.is_before(first + a.operation, first + b.operation) &&
            !graph_.is_before(first + b.operation, first + a.operation))
          note(rank, a.operation,
               "touches memory at the same time as operation " + std::to_string(b.operation));
      }
  }

  std::vector<Access> accesses_of(std::size_t rank) {
    const Program& program = *question_.ranks[rank].program;
    std::vector<Access> accesses;
    const auto add = [&](std::uint32_t operation, const Place& place, std::size_t count,
                         bool writes) {
      if (place.base == Base::arriving) return;
      const auto where = memories_[rank].find(place, count);
      if (!where) return note(rank, operation, "touches what is not there");
      if (count > 0) accesses.push_back({*where, operation, writes});
    };
    for (std::uint32_t i = 0; i < program.size(); ++i) {
      const Operation& operation = program.operations[i];
      for (const PlacedPiece& piece : program.pieces_of(operation))
        add(i, piece.place, piece.bytes / question_.element_bytes, operation.verb == Verb::recv);
      for (const Combination& combination : program.combinations_of(operation)) {
        add(i, combination.destination, combination.count, true);
        for (const Place& place : program.operands_of(combination))
          add(i, place, combination.count, false);
      }
    }
    return accesses;
  }

  void play() {
    std::vector<std::vector<Node>> payloads(graph_.size());
    for (const std::size_t number : graph_.order(question_.seed)) {
      std::size_t rank = question_.ranks.size() - 1;
      while (graph_.first_of(rank) > number) --rank;
      const Program& program = *question_.ranks[rank].program;
      const auto index = static_cast<std::uint32_t>(number - graph_.first_of(rank));
      const Operation& operation = program.operations[index];
      if (operation.verb == Verb::send) payloads[number] = gather(rank, index);
      else if (operation.verb == Verb::combine) combine(rank, index, {});
      else receive(rank, index, payloads[graph_.sources()[number]]);
    }
  }

  [[nodiscard]] std::vector<Node> gather(std::size_t rank, std::uint32_t index) {
    const Program& program = *question_.ranks[rank].program;
    std::vector<Node> nodes;
    for (const PlacedPiece& piece : program.pieces_of(program.operations[index])) {
      const ElementRun from =
          *memories_[rank].find(piece.place, piece.bytes / question_.element_bytes);
      for (std::size_t i = 0; i < from.count; ++i) nodes.push_back(memories_[rank].at(from, i));
    }
    if (std::ranges::count(nodes, kNoNode) > 0) note(rank, index, "sends what was never written");
    return nodes;
  }

  void receive(std::size_t rank, std::uint32_t index, const std::vector<Node>& payload) {
    const Program& program = *question_.ranks[rank].program;
    const Operation& operation = program.operations[index];
    if (operation.combinations > 0) return combine(rank, index, payload);
    std::size_t next = 0;
    for (const PlacedPiece& piece : program.pieces_of(operation)) {
      const auto to = memories_[rank].find(piece.place, piece.bytes / question_.element_bytes);
      if (!to) return note(rank, index, "receives to where nothing is");
      for (std::size_t i = 0; i < to->count; ++i) memories_[rank].at(*to, i) = payload[next++];
    }
  }

  void combine(std::size_t rank, std::uint32_t index, const std::vector<Node>& payload) {
    const Program& program = *question_.ranks[rank].program;
    std::size_t taken = 0;
    for (const Combination& combination : program.combinations_of(program.operations[index])) {
      const ElementRun to = *memories_[rank].find(combination.destination, combination.count);
      for (std::size_t i = 0; i < combination.count; ++i) {
        std::vector<Node> operands;
        for (const Place& place : program.operands_of(combination)) {
          if (place.base == Base::arriving)
            operands.push_back(taken + i < payload.size() ? payload[taken + i] : kNoNode);
          else
            operands.push_back(
                memories_[rank].at(*memories_[rank].find(place, combination.count), i));
        }
        if (std::ranges::count(operands, kNoNode) > 0)
          note(rank, index, "combines what was never written");
        memories_[rank].at(to, i) = expressions_.fold(operands, combination.finish);
      }
      taken += combination.count;
    }
    if (!payload.empty() && taken != payload.size())
      note(rank, index, "does not combine all that it receives");
  }

  void compare() {
    const auto expected = play_schedules(question_, elements_, expressions_);
    for (std::size_t rank = 0; rank < memories_.size(); ++rank) {
      const std::vector<std::size_t>& output = memories_[rank].output();
      for (std::size_t i = 0; i < output.size(); ++i) {
        const Node wanted = expected[rank][output[i]];
        if (wanted == kNoNode) continue;  // of another segment
        const std::size_t offset = i * question_.element_bytes - question_.ranks[rank].shift;
        const ElementRun at = *memories_[rank].find({Base::out, offset}, 1);
        if (problem_.empty() && memories_[rank].at(at, 0) != wanted)
          problem_ = "rank " + std::to_string(rank) + ": element " + std::to_string(i) +
                     " of the result is not what the schedule makes of it";
      }
    }
  }

  const ProgramQuestion& question_;
  Elements elements_;
  ProgramGraph graph_;
  Expressions expressions_{};
  std::vector<MemoryOfRank> memories_{};
  std::string problem_{};
};

}  // namespace

std::string check_programs(const ProgramQuestion& question) {
  return ProgramCheck{question}.run();
}

}  // namespace tutti::inline v0::detail
