// Turns the rounds of a schedule into a program: operations with the places of all their bytes.
#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include <tutti/error.hpp>

#include "lowering.hpp"
#include "program_builder.hpp"
#include "receives.hpp"
#include "rounds.hpp"
#include "units.hpp"

namespace tutti::v0::detail {
namespace {

class Lowering {
 public:
  Lowering(const Schedule& schedule, const Layout& layout, const LoweringOptions& lowering,
           Segment segment, bool in_place)
      : lowering_{lowering}, in_place_{in_place}, rounds_{schedule, layout, in_place,
                                                          lowering.contributions.get()},
        units_{layout, rounds_.parts(), segment, lowering.element_bytes}, homes_{units_, rounds_},
        receives_{lowering, homes_, in_place}, builder_{schedule.paced()} {}

  Program run(std::size_t rounds) {
    next_ = rounds > 0 ? rounds_.next() : Round{};
    for (std::size_t i = 1; i <= rounds; ++i) {
      round_ = std::exchange(next_, i < rounds ? rounds_.next() : Round{});
      received_ = receives_.decide(round_, next_);
      lower();
      ++program_.rounds;
    }
    builder_.begin_round(false);  // results that no round writes wait for nothing
    for (const RoundFold& result : rounds_.results()) add_fold(result, {});
    builder_.end_round();
    return builder_.finish(homes_.held_bytes());
  }

 private:
  /// A wait whose result the next round sends back, or a send whose result the next one receives.
  struct Forwarding {
    std::uint32_t message = 0;  // number in the program
    std::uint32_t next = 0;     // index in the next round
  };

  void lower() {
    builder_.begin_round();
    homes_.begin_round(round_.arrivals.size());
    numbers_.assign(round_.messages.size(), kNoMessage);
    ordinals_.clear();
    for (std::uint32_t i = 0; i < round_.messages.size(); ++i) add_message(i);
    for (std::size_t i = 0; i < round_.folds.size(); ++i)
      if (received_.combined[i] == kNoMessage)
        add_fold(round_.folds[i], waited_by(round_.folds[i]));
    builder_.end_round();
    connect_forwards();
  }

  void add_message(std::uint32_t index) {
    const RoundMessage& message = round_.messages[index];
    Operation operation{.kind = operation_kind_of(index),
                        .peer = message.peer,
                        .first_piece = size_of(program_.pieces),
                        .first_combination = size_of(program_.combinations)};
    ordinals_.push_back(counts_[{message.peer, message.is_send}]++);
    const std::vector<const RoundFold*> folds = combined_with(index);
    std::size_t bytes = 0;
    for (const Run& run : message.runs) {
      if (run.base == Base::message && folds.empty()) homes_.stage(run);
      else if (run.base == Base::message) homes_.pass(run, builder_.messages(), bytes);
      bytes += add_pieces(run, operation);
      if (operation.kind == OperationKind::wait) homes_.pass(run, builder_.messages(), 0);
    }
    // Usually both ends know that the message is empty, and leave it out.
    if (bytes == 0 && !lowering_.keeps_empty) return;
    Accesses accesses;
    for (const Run& run : message.runs)
      touch(run, message.is_send ? accesses.reads : accesses.writes);
    for (const RoundFold* const fold : folds) {
      add_combinations(*fold, operation);
      touch(*fold, accesses);
    }
    // From now on the peer may store its result where the next round receives it.
    if (message.is_send && received_.forwards[index] != kNoMessage)
      touch(next_.messages[received_.forwards[index]].runs[0], accesses.writes);
    numbers_[index] = builder_.messages();
    if (lowering_.visible) program_.forwards.emplace_back();
    builder_.add_message(operation, accesses, waited_before(index));
  }

  void touch(const Run& run, std::vector<Touched>& touched) const {
    switch (run.base) {
      case Base::in:
      case Base::out:
        touched.push_back({run.base == Base::out || in_place_ ? Area::out : Area::in, run.first,
                           std::uint64_t{run.first} + run.count});
        return;
      case Base::held:
        touched.push_back({Area::held, run.place, std::uint64_t{run.place} + run.count});
        return;
      default: homes_.touch(run, touched);
    }
  }
  void touch(const RoundFold& fold, Accesses& accesses) const {
    for (const Run& operand : fold.operands) touch(operand, accesses.reads);
    touch(fold.destination, accesses.writes);
  }

  /// @return the wait of the previous round whose result this send returns, or kNoMessage.
  [[nodiscard]] std::uint32_t waited_before(std::uint32_t index) const {
    const auto found = std::ranges::find_if(forwardings_, [&](const Forwarding& forwarding) {
      return forwarding.next == index && round_.messages[index].is_send;
    });
    return found == forwardings_.end() ? kNoMessage : found->message;
  }

  [[nodiscard]] OperationKind operation_kind_of(std::uint32_t index) const {
    if (round_.messages[index].is_send) return OperationKind::send;
    return received_.messages[index] == Receiving::wait ? OperationKind::wait : OperationKind::recv;
  }

  /// @return the folds that combine a message while it arrives, in the order of its bytes.
  [[nodiscard]] std::vector<const RoundFold*> combined_with(std::uint32_t message) const {
    std::vector<const RoundFold*> folds;
    for (std::size_t i = 0; i < round_.folds.size(); ++i)
      if (received_.combined[i] == message) folds.push_back(&round_.folds[i]);
    std::ranges::sort(folds, {}, [](const RoundFold* fold) {
      const auto& operands = fold->operands;
      const Run& coming = operands[operands[0].base == Base::message ? 0 : 1];
      return std::pair{coming.place, coming.first};
    });
    return folds;
  }

  /// Adds the pieces of a run. @return their bytes.
  std::size_t add_pieces(const Run& run, Operation& operation) {
    std::size_t bytes = 0;
    Homes::RunCursor cursor{homes_, run};
    units_.for_each_block(run.first, run.count, [&](const Extent& extent, std::uint32_t block) {
      const PlacedPiece piece{cursor.next(extent, block), extent.count * units_.element_bytes()};
      if (piece.bytes == 0) return;
      bytes += piece.bytes;
      if (operation.pieces > 0) {
        PlacedPiece& last = program_.pieces.back();
        if (last.place.base == piece.place.base &&
            last.place.offset + last.bytes == piece.place.offset) {
          last.bytes += piece.bytes;
          return;
        }
      }
      program_.pieces.push_back(piece);
      ++operation.pieces;
    });
    return bytes;
  }

  /// @return the numbers of the waits whose messages a fold reads.
  [[nodiscard]] std::vector<std::uint32_t> waited_by(const RoundFold& fold) const {
    std::vector<std::uint32_t> waited;
    for (std::uint32_t i = 0; i < round_.messages.size(); ++i)
      if (operation_kind_of(i) == OperationKind::wait &&
          std::ranges::any_of(fold.operands, [&](const Run& operand) {
            return operand.base == Base::message &&
                   operand.place == round_.messages[i].runs[0].place;
          }))
        waited.push_back(numbers_[i]);
    return waited;
  }

  void add_fold(const RoundFold& fold, const std::vector<std::uint32_t>& waited) {
    Operation operation{.first_piece = size_of(program_.pieces),
                        .first_combination = size_of(program_.combinations)};
    add_combinations(fold, operation, waited);
    if (operation.combinations == 0) return;
    Accesses accesses;
    touch(fold, accesses);
    builder_.add_combine(operation, accesses, waited);
  }

  void add_combinations(const RoundFold& fold, Operation& operation,
                        std::span<const std::uint32_t> waited = {}) {
    Homes::RunCursor to{homes_, fold.destination};
    std::vector<Homes::RunCursor> from;
    for (const Run& operand : fold.operands) from.emplace_back(homes_, operand);
    std::size_t offset = 0;  // in each message that the fold waits for, and in its result
    units_.for_each_block(
        fold.destination.first, fold.destination.count,
        [&](const Extent& extent, std::uint32_t block) {
          Place destination = to.next(extent, block);
          destination.exponent = exponent_of(fold.destination.contributions);
          std::vector<Place> places;
          for (std::size_t i = 0; i < from.size(); ++i) {
            places.push_back(from[i].next(extent, block));
            places.back().exponent = exponent_of(fold.operands[i].contributions);
          }
          Combination combination{.destination = destination,
                                  .operands = size_of(places),
                                  .count = extent.count,
                                  .finish = fold.finish && lowering_.divides};
          for (const std::uint32_t message : waited)
            if (is_answered(message))
              places.push_back({Base::result, destination.exponent, message, offset});
          combination.results = size_of(places) - combination.operands;
          add_combination(combination, places, operation);
          offset += extent.count * units_.element_bytes();
        });
  }

  [[nodiscard]] bool is_answered(std::uint32_t message) const {
    const auto index = std::ranges::find(numbers_, message) - numbers_.begin();
    return received_.forwards[static_cast<std::size_t>(index)] != kNoMessage;
  }

  /// Adds a combination, or extends the last one if all its places continue those of the last one.
  void add_combination(Combination combination, const std::vector<Place>& places,
                       Operation& operation) {
    const bool is_void = places.size() == 1 && !combination.finish &&
                         is_same_memory(places[0], combination.destination);
    if (combination.count == 0 || is_void) return;
    if (operation.combinations > 0 && extends(program_.combinations.back(), combination, places)) {
      program_.combinations.back().count += combination.count;
      return;
    }
    combination.first_operand = size_of(program_.operands);
    program_.operands.insert(program_.operands.end(), places.begin(), places.end());
    program_.combinations.push_back(combination);
    ++operation.combinations;
  }
  /// In place, the result of a unit lies where its input does.
  [[nodiscard]] bool is_same_memory(const Place& from, const Place& to) const noexcept {
    return from == to || (in_place_ && from.base == Base::in && to.base == Base::out);
  }
  [[nodiscard]] bool extends(const Combination& last, const Combination& next,
                             std::span<const Place> places) const {
    const std::size_t bytes = last.count * units_.element_bytes();
    const auto follows = [bytes](const Place& a, const Place& b) {
      return a.base == b.base && a.message == b.message && a.exponent == b.exponent &&
             a.offset + bytes == b.offset;
    };
    return last.finish == next.finish && last.operands == next.operands &&
           last.results == next.results && follows(last.destination, next.destination) &&
           std::ranges::equal(program_.operands_of(last), places.first(last.operands), follows) &&
           std::ranges::equal(program_.results_of(last), places.subspan(last.operands), follows);
  }

  /// Connects the pairs that began in the previous round: both their messages have numbers now.
  void connect_forwards() {
    for (const Forwarding& forwarding : forwardings_) {
      Forward& forward = program_.forwards[forwarding.message];
      const bool is_wait =
          program_.operations[program_.messages[forwarding.message]].kind == OperationKind::wait;
      (is_wait ? forward.sent : forward.spared) = numbers_[forwarding.next];
      forward.ordinal = ordinals_[forwarding.next];
    }
    forwardings_.clear();
    for (std::size_t i = 0; i < numbers_.size(); ++i)
      if (received_.forwards[i] != kNoMessage)
        forwardings_.push_back({numbers_[i], received_.forwards[i]});
  }

  template <class T>
  [[nodiscard]] static std::uint32_t size_of(const std::vector<T>& list) noexcept {
    return ProgramBuilder::size_of(list);
  }

  const LoweringOptions& lowering_;
  bool in_place_;
  Rounds rounds_;
  Units units_;
  Homes homes_;
  Receives receives_;
  ProgramBuilder builder_;
  Program& program_ = builder_.program();
  Round round_{};                          // being lowered
  Round next_{};                           // the one after it
  Received received_{};                    // the decisions for round_
  std::vector<std::uint32_t> numbers_{};   // of round_'s messages in the program, or kNoMessage
  std::vector<std::uint32_t> ordinals_{};  // of round_'s messages, by peer and direction
  std::vector<Forwarding> forwardings_{};  // from the last lowered round into the one after it
  std::map<std::pair<Rank, bool>, std::uint32_t> counts_{};  // messages, by peer and direction
};

}  // namespace

Program lower(const Schedule& schedule, const Layout& layout, const LoweringOptions& lowering,
              Segment segment, bool in_place) {
  return Lowering{schedule, layout, lowering, segment, in_place}.run(schedule.rounds());
}

}  // namespace tutti::v0::detail
