#include "program_check.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "program_graph.hpp"
#include "program_values.hpp"

namespace tutti::v0::detail {
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

/// Programs whose messages are all moved, or stay where that may be.
class ProgramCheck {
 public:
  ProgramCheck(const ProgramQuestion& question, bool in_place)
      : question_{question}, elements_{question}, graph_{question, in_place} {
    for (std::size_t rank = 0; rank < question.ranks.size(); ++rank)
      memories_.emplace_back(question, elements_, rank, expressions_);
  }

  std::string run() {
    if (!graph_.problem().empty()) return graph_.problem();
    find_accesses();
    for (std::size_t number = 0; number < graph_.size(); ++number) check_waits(number);
    for (std::size_t rank = 0; rank < memories_.size() && problem_.empty(); ++rank) {
      check_order(rank);
      check_accesses(rank);
    }
    if (problem_.empty()) play();
    if (problem_.empty()) compare();
    return problem_;
  }

 private:
  struct Access {
    ElementRun where{};
    std::size_t operation = 0;  // number
    bool writes = false;
    std::size_t send = kNoSend;  // in whose time it is
  };
  /// Elements of a rank's memory.
  struct Located {
    std::size_t rank = 0;
    std::optional<ElementRun> run{};  // nothing where that is not there
    std::size_t send = kNoSend;       // that must not have ended
  };
  static constexpr std::size_t kNoSend = ~std::size_t{0};

  [[nodiscard]] std::size_t rank_of(std::size_t number) const {
    std::size_t rank = question_.ranks.size() - 1;
    while (graph_.first_of(rank) > number) --rank;
    return rank;
  }
  [[nodiscard]] const Operation& operation_of(std::size_t number) const {
    const std::size_t rank = rank_of(number);
    return question_.ranks[rank].program->operations[number - graph_.first_of(rank)];
  }
  [[nodiscard]] std::size_t number_of(std::size_t rank, std::uint32_t message) const {
    return graph_.first_of(rank) + question_.ranks[rank].program->messages[message];
  }

  void note(std::size_t number, const std::string& text) {
    const std::size_t rank = rank_of(number);
    if (problem_.empty())
      problem_ = "rank " + std::to_string(rank) + ", operation " +
                 std::to_string(number - graph_.first_of(rank)) + " of round " +
                 std::to_string(operation_of(number).round) + ": " + text;
  }

  /// @return the place at an offset in the only piece of a message.
  [[nodiscard]] Located in_piece(std::size_t number, std::size_t offset, std::size_t count) const {
    const std::size_t rank = rank_of(number);
    const auto pieces = question_.ranks[rank].program->pieces_of(operation_of(number));
    if (pieces.size() != 1 || offset + count * question_.element_bytes > pieces[0].bytes)
      return {.rank = rank};
    Place place = pieces[0].place;
    place.offset += offset;
    return {.rank = rank, .run = memories_[rank].find(place, count)};
  }

  /// @return the place of an operand or of a result, or nothing if it has none.
  [[nodiscard]] std::optional<Located> locate(std::size_t rank, const Place& place,
                                              std::size_t count) const {
    if (place.base != Base::message && place.base != Base::result)
      return Located{.rank = rank, .run = memories_[rank].find(place, count)};
    const std::size_t message = number_of(rank, place.message);
    if (operation_of(message).kind != OperationKind::wait) return std::nullopt;
    if (place.base == Base::result) {
      const auto spared = graph_.spared_by(message);
      if (!spared) return std::nullopt;
      Located located = in_piece(*spared, place.offset, count);
      located.send = graph_.sources()[message];
      return located;
    }
    if (!graph_.stays(message)) return in_piece(message, place.offset, count);
    Located located = in_piece(graph_.sources()[message], place.offset, count);
    located.send = graph_.sources()[message];
    return located;
  }

  /// Every two accesses of which one writes are ordered; but while a rank sends something, who
  /// waited for that may write there.
  void check_accesses(std::size_t rank) {
    std::vector<Access>& accesses = accesses_[rank];
    std::ranges::sort(accesses, {}, [](const Access& access) {
      return std::pair{access.where.memory, access.where.first};
    });
    for (std::size_t i = 0; i < accesses.size(); ++i)
      for (std::size_t k = i + 1; k < accesses.size(); ++k) {
        const Access &a = accesses[i], &b = accesses[k];
        if (b.where.memory != a.where.memory || b.where.first >= a.where.first + a.where.count)
          break;
        if ((!a.writes && !b.writes) || a.operation == b.operation || a.send == b.operation ||
            b.send == a.operation)
          continue;
        if (!graph_.is_before(a.operation, b.operation) &&
            !graph_.is_before(b.operation, a.operation))
          note(a.operation,
               "touches memory of rank " + std::to_string(rank) +
                   " at the same time as operation " +
                   std::to_string(b.operation - graph_.first_of(rank_of(b.operation))) +
                   " of rank " + std::to_string(rank_of(b.operation)));
      }
  }

  /// Messages to or from a peer match in the order in which they start.
  void check_order(std::size_t rank) {
    const Program& program = *question_.ranks[rank].program;
    std::map<std::pair<Rank, bool>, std::pair<std::uint32_t, std::size_t>> last;  // with its batch
    for (std::size_t batch = 0; batch < program.batches.size(); ++batch)
      for (std::uint32_t k = 0; k < program.batches[batch].messages; ++k) {
        const std::uint32_t i = program.batches[batch].first + k;
        const Operation& operation = program.operations[i];
        const auto [before, is_first] = last.try_emplace(
            {operation.peer, operation.kind == OperationKind::send}, std::pair{i, batch});
        if (is_first) continue;
        const auto [earlier, in_batch] = std::exchange(before->second, {i, batch});
        if (in_batch != batch &&
            !graph_.is_before(graph_.first_of(rank) + earlier, graph_.first_of(rank) + i))
          note(graph_.first_of(rank) + i, "may start before an earlier message of its direction");
      }
  }

  /// Operations touch a sender's memory only between the wait for it and its signal.
  void check_waits(std::size_t number) {
    const std::size_t rank = rank_of(number);
    const Program& program = *question_.ranks[rank].program;
    if (operation_of(number).kind != OperationKind::combine) return;
    const auto check = [&](const Place& place) {
      if (place.base != Base::message && place.base != Base::result) return;
      for (std::uint32_t i = 0; i < program.size(); ++i) {
        const Operation& other = program.operations[i];
        if (other.message != place.message) continue;
        const std::size_t wait = graph_.first_of(rank) + i;
        const bool is_in_order = other.kind == OperationKind::signal
                                     ? graph_.is_before(number, wait)
                                     : graph_.is_before(wait, number);
        if (!is_in_order)
          note(number, "touches memory of a peer before its wait or after its signal");
      }
    };
    for (const Combination& combination : program.combinations_of(operation_of(number))) {
      std::ranges::for_each(program.operands_of(combination), check);
      std::ranges::for_each(program.results_of(combination), check);
    }
  }

  void add_access(std::size_t number, const std::optional<Located>& located, bool writes) {
    if (!located) return;
    if (!located->run) return note(number, "touches what is not there");
    if (located->run->count > 0)
      accesses_[located->rank].push_back({*located->run, number, writes, located->send});
  }

  void find_accesses() {
    accesses_.resize(memories_.size());
    for (std::size_t number = 0; number < graph_.size(); ++number) {
      const std::size_t rank = rank_of(number);
      const Program& program = *question_.ranks[rank].program;
      const Operation& operation = operation_of(number);
      const bool is_moved = !graph_.is_spared(number) && !graph_.stays(number);
      if (is_moved && (operation.kind != OperationKind::recv || operation.combinations == 0))
        for (const PlacedPiece& piece : program.pieces_of(operation))
          add_access(number, locate(rank, piece.place, piece.bytes / question_.element_bytes),
                     operation.kind != OperationKind::send);
      for (const Combination& combination : program.combinations_of(operation)) {
        add_access(number, locate(rank, combination.destination, combination.count), true);
        for (const Place& place : program.operands_of(combination))
          add_access(number, locate(rank, place, combination.count), false);
        for (const Place& place : program.results_of(combination))
          add_access(number, locate(rank, place, combination.count), true);
      }
    }
  }

  void play() {
    std::vector<std::vector<Node>> payloads(graph_.size());
    for (const std::size_t number : graph_.order(question_.seed)) {
      const OperationKind kind = operation_of(number).kind;
      if (graph_.is_spared(number) || graph_.stays(number) || kind == OperationKind::signal)
        continue;
      if (kind == OperationKind::send) payloads[number] = gather(number);
      else if (kind == OperationKind::combine) combine(number, {});
      else receive(number, payloads[graph_.sources()[number]]);
    }
  }

  [[nodiscard]] std::vector<Node> gather(std::size_t number) {
    const std::size_t rank = rank_of(number);
    std::vector<Node> nodes;
    for (const PlacedPiece& piece :
         question_.ranks[rank].program->pieces_of(operation_of(number))) {
      const ElementRun from =
          *memories_[rank].find(piece.place, piece.bytes / question_.element_bytes);
      for (std::size_t i = 0; i < from.count; ++i) nodes.push_back(memories_[rank].at(from, i));
    }
    if (std::ranges::count(nodes, kNoNode) > 0) note(number, "sends what was never written");
    return nodes;
  }

  void receive(std::size_t number, const std::vector<Node>& payload) {
    const std::size_t rank = rank_of(number);
    const Operation& operation = operation_of(number);
    if (operation.combinations > 0) return combine(number, payload);
    std::size_t next = 0;
    for (const PlacedPiece& piece : question_.ranks[rank].program->pieces_of(operation)) {
      const auto to = memories_[rank].find(piece.place, piece.bytes / question_.element_bytes);
      if (!to) return note(number, "receives to where nothing is");
      for (std::size_t i = 0; i < to->count; ++i) memories_[rank].at(*to, i) = payload[next++];
    }
  }

  void combine(std::size_t number, const std::vector<Node>& payload) {
    const std::size_t rank = rank_of(number);
    const Program& program = *question_.ranks[rank].program;
    std::size_t taken = 0;
    for (const Combination& combination : program.combinations_of(operation_of(number))) {
      for (std::size_t i = 0; i < combination.count; ++i) {
        std::vector<Node> operands;
        for (const Place& place : program.operands_of(combination)) {
          const auto located = locate(rank, place, combination.count);
          if (located) operands.push_back(memories_[located->rank].at(*located->run, i));
          else operands.push_back(taken + i < payload.size() ? payload[taken + i] : kNoNode);
        }
        if (std::ranges::count(operands, kNoNode) > 0)
          note(number, "combines what was never written");
        const Node made = expressions_.fold(operands, combination.finish);
        store(*locate(rank, combination.destination, combination.count), i, made);
        for (const Place& place : program.results_of(combination))
          if (const auto located = locate(rank, place, combination.count)) store(*located, i, made);
      }
      taken += combination.count;
    }
    if (!payload.empty() && taken != payload.size())
      note(number, "does not combine all that it receives");
  }
  void store(const Located& where, std::size_t index, Node node) {
    memories_[where.rank].at(*where.run, index) = node;
  }

  void compare() {
    const auto expected = play_schedules(question_, elements_, expressions_);
    for (std::size_t rank = 0; rank < memories_.size(); ++rank) {
      const std::vector<std::size_t>& output = memories_[rank].output();
      for (std::size_t i = 0; i < output.size(); ++i) {
        const Node wanted = expected[rank][output[i]];
        if (wanted == kNoNode) continue;  // of another segment
        const std::size_t offset = i * question_.element_bytes - question_.ranks[rank].shift;
        const ElementRun at = *memories_[rank].find({Base::out, 0, 0, offset}, 1);
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
  std::vector<std::vector<Access>> accesses_{};  // by rank
  std::string problem_{};
};

}  // namespace

std::string check_programs(const ProgramQuestion& question) {
  const std::string problem = ProgramCheck{question, false}.run();
  const auto waits = [](const ProgramOfRank& rank) { return !rank.program->forwards.empty(); };
  if (!problem.empty() || std::ranges::none_of(question.ranks, waits)) return problem;
  const std::string in_place = ProgramCheck{question, true}.run();
  return in_place.empty() ? in_place : "in visible memory: " + in_place;
}

}  // namespace tutti::v0::detail
