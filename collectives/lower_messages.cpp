// The lowering to messages: a send of slots is a send, a receive that is the only incoming operand
// of its folds, of which nothing else of the round touches what they touch, combines while it
// comes, and what else arrives is staged and combined or copied when all that reads the destination
// is done. A round begins when the one before has ended: rounds are flow control.
#include "lower_messages.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include <tutti/error.hpp>

namespace tutti::inline v0::detail {

bool overlap(const Run& a, const Run& b, bool in_place) noexcept {
  if (a.base == Base::arriving || b.base == Base::arriving) return false;
  const bool is_held = a.base == Base::held;
  if (is_held != (b.base == Base::held) || (a.base != b.base && !in_place)) return false;
  const std::uint32_t first_of_a = is_held ? a.place : a.first;
  const std::uint32_t first_of_b = is_held ? b.place : b.first;
  return first_of_a < first_of_b + b.count && first_of_b < first_of_a + a.count;
}

namespace {

/// What an operation of a round reads and writes.
struct Accesses {
  std::vector<Run> reads{};
  std::vector<Run> writes{};
};

class MessageLowering {
 public:
  MessageLowering(const Schedule& schedule, const Layout& layout, const LoweringOptions& lowering,
                  Segment segment, bool in_place)
      : schedule_{schedule}, lowering_{lowering}, in_place_{in_place}, rounds_{schedule, layout,
                                                                               in_place},
        units_{layout, rounds_.parts(), segment, lowering.element_bytes}, homes_{units_, rounds_} {}

  Program run() {
    for (std::size_t i = 0; i < schedule_.rounds(); ++i) {
      LoweredRound round{.round = rounds_.next()};
      lower(round);
      if (lowering_.lends) find_shortcuts(program_, before_, round, in_place_);
      before_ = std::move(round);
      ++program_.rounds;
    }
    last_.clear();  // these wait for nothing
    begin_round();
    for (const RoundFold& result : rounds_.results()) add_fold(result);
    end_round();
    program_.held_bytes = homes_.held_bytes();
    connect();
    return std::move(program_);
  }

 private:
  void lower(LoweredRound& round) {
    begin_round();
    homes_.begin_round(round.round.arrivals.size());
    fuse(round);
    for (std::size_t i = 0; i < round.round.messages.size(); ++i) add_message(round, i);
    if (!touched_.empty()) add_batch(first_of_round_, last_);
    std::vector<RoundFold>& folds = round.round.folds;
    for (std::size_t i = 0; i < folds.size(); ++i)
      if (round.fused[i] == kNoMessage) add_fold(folds[i]);
    end_round();
  }

  // Which messages need not be staged.

  /// The message whose bytes are the only incoming operand of a fold.
  [[nodiscard]] std::uint32_t incoming(const RoundFold& fold) const {
    if (fold.operands.size() != 2) return kNoMessage;
    for (const Run& operand : fold.operands)
      if (operand.base == Base::arriving) return receives_[operand.place];
    return kNoMessage;
  }

  void fuse(LoweredRound& round) {
    const std::vector<RoundMessage>& messages = round.round.messages;
    std::vector<RoundFold>& folds = round.round.folds;
    receives_.assign(round.round.arrivals.size(), kNoMessage);
    for (std::uint32_t i = 0; i < messages.size(); ++i)
      for (const Run& run : messages[i].runs)
        if (run.base == Base::arriving) receives_[run.place] = i;
    std::vector<std::size_t> units(messages.size());
    std::vector<bool> may_fuse(messages.size());
    for (std::size_t i = 0; i < messages.size(); ++i) {
      may_fuse[i] = lowering_.combines && !messages[i].is_send;
      for (const Run& run : messages[i].runs) {
        units[i] += run.count;
        may_fuse[i] = may_fuse[i] && run.base == Base::arriving;
      }
    }
    for (const RoundFold& fold : folds) {
      const std::uint32_t message = incoming(fold);
      if (message == kNoMessage || !may_fuse[message]) continue;
      units[message] -= fold.destination.count;
      may_fuse[message] = is_alone(round.round, fold);
    }
    round.fused.assign(folds.size(), kNoMessage);
    for (std::size_t i = 0; i < folds.size(); ++i) {
      const std::uint32_t message = incoming(folds[i]);
      if (message != kNoMessage && may_fuse[message] && units[message] == 0)
        round.fused[i] = message;
    }
  }

  /// Whether a fold may happen at any time of the round.
  [[nodiscard]] bool is_alone(const Round& round, const RoundFold& fold) const {
    const auto meets = [this](const Run& a, const Run& b) { return overlap(a, b, in_place_); };
    const auto is_touched_by_write = [&](const Run& written) {
      return meets(written, fold.destination) ||
             std::ranges::any_of(fold.operands,
                                 [&](const Run& own) { return meets(written, own); });
    };
    for (const RoundMessage& message : round.messages)
      for (const Run& run : message.runs)
        if (message.is_send ? meets(run, fold.destination) : is_touched_by_write(run)) return false;
    return std::ranges::none_of(round.folds, [&](const RoundFold& other) {
      if (&other == &fold) return false;
      return is_touched_by_write(other.destination) ||
             std::ranges::any_of(other.operands,
                                 [&](const Run& read) { return meets(read, fold.destination); });
    });
  }

  // Operations.

  void add_message(LoweredRound& round, std::size_t index) {
    const RoundMessage& message = round.round.messages[index];
    const std::vector<const RoundFold*> folds = folds_of(round, index);
    round.turns.push_back(turns_[{message.peer, message.is_send}]++);
    round.operations.push_back(kNoMessage);
    Operation operation{.verb = message.is_send ? Verb::send : Verb::recv,
                        .peer = message.peer,
                        .first_piece = size_of(program_.pieces),
                        .first_combination = size_of(program_.combinations)};
    Accesses touched;
    (message.is_send ? touched.reads : touched.writes) = message.runs;
    std::size_t bytes = 0;
    for (const Run& run : message.runs) {
      if (run.base == Base::arriving && folds.empty()) homes_.stage(run);
      else if (run.base == Base::arriving) homes_.pass(run, bytes);
      bytes += add_pieces(run, operation);
    }
    // Mostly both ends see that there is nothing to say, so nothing is said.
    if (bytes == 0 && !lowering_.keeps_empty) return;
    for (const RoundFold* const fold : folds) {
      add_combinations(*fold, operation);
      touched.reads.insert(touched.reads.end(), fold->operands.begin(), fold->operands.end());
      touched.writes.push_back(fold->destination);
    }
    operation.message = size_of(program_.messages);
    program_.messages.push_back(size_of(program_.operations));
    if (lowering_.lends) program_.shortcuts.emplace_back();
    round.operations.back() = add(operation, std::move(touched));
  }

  /// Those that a message is combined with, in the order of its bytes.
  [[nodiscard]] std::vector<const RoundFold*> folds_of(const LoweredRound& round,
                                                       std::size_t message) const {
    std::vector<const RoundFold*> folds;
    for (std::size_t i = 0; i < round.fused.size(); ++i)
      if (round.fused[i] == message) folds.push_back(&round.round.folds[i]);
    std::ranges::sort(folds, {}, [](const RoundFold* fold) {
      const auto& operands = fold->operands;
      const Run& arriving = operands[operands[0].base == Base::arriving ? 0 : 1];
      return std::pair{arriving.place, arriving.first};
    });
    return folds;
  }

  /// @return their bytes.
  std::size_t add_pieces(const Run& run, Operation& operation) {
    std::size_t bytes = 0;
    Homes::Walk walk{homes_, run};
    units_.for_each_block(run.first, run.count, [&](const Extent& extent, std::uint32_t block) {
      const PlacedPiece piece{walk.next(extent, block), extent.count * units_.element_bytes()};
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

  /// Adds it to the operation before, where that waits for the same ones.
  void add_fold(const RoundFold& fold) {
    Operation operation{.first_combination = size_of(program_.combinations)};
    add_combinations(fold, operation);
    if (operation.combinations == 0) return;
    Accesses touched{fold.operands, {fold.destination}};
    std::vector<std::uint32_t> before = before_in_round(touched);
    const std::uint32_t last = size_of(program_.operations) - 1;
    if (!touched_.empty() && program_.operations[last].verb == Verb::combine) {
      std::vector<std::uint32_t> others = before;
      std::erase(others, last);
      if (others == before_last_) {
        program_.operations[last].combinations += operation.combinations;
        touched_.back().reads.insert(touched_.back().reads.end(), fold.operands.begin(),
                                     fold.operands.end());
        touched_.back().writes.push_back(fold.destination);
        return;
      }
    }
    const std::uint32_t added = add(operation, std::move(touched));
    for (const std::uint32_t earlier : before) is_followed_[earlier - first_of_round_] = true;
    add_batch(added, before.empty() ? last_ : before);
    before_last_ = std::move(before);
  }

  void add_combinations(const RoundFold& fold, Operation& operation) {
    Homes::Walk to{homes_, fold.destination};
    std::vector<Homes::Walk> from;
    for (const Run& operand : fold.operands) from.emplace_back(homes_, operand);
    units_.for_each_block(fold.destination.first, fold.destination.count,
                          [&](const Extent& extent, std::uint32_t block) {
                            const Place destination = to.next(extent, block);
                            std::vector<Place> operands;
                            for (Homes::Walk& walk : from)
                              operands.push_back(walk.next(extent, block));
                            add_combination({destination, 0, size_of(operands), extent.count,
                                             fold.finish && lowering_.divides},
                                            operands, operation);
                          });
  }

  /// Adds it, or its elements to the one before where they follow that everywhere.
  void add_combination(Combination combination, const std::vector<Place>& operands,
                       Operation& operation) {
    const bool is_void = operands.size() == 1 && !combination.finish &&
                         is_same_memory(operands[0], combination.destination);
    if (combination.count == 0 || is_void) return;
    if (operation.combinations > 0 &&
        extends(program_.combinations.back(), combination, operands)) {
      program_.combinations.back().count += combination.count;
      return;
    }
    combination.first_operand = size_of(program_.operands);
    program_.operands.insert(program_.operands.end(), operands.begin(), operands.end());
    program_.combinations.push_back(combination);
    ++operation.combinations;
  }
  /// In place a unit of a result stands where its input does.
  [[nodiscard]] bool is_same_memory(const Place& from, const Place& to) const noexcept {
    return from == to || (in_place_ && from.base == Base::in && to.base == Base::out);
  }
  [[nodiscard]] bool extends(const Combination& last, const Combination& next,
                             std::span<const Place> operands) const {
    const std::size_t bytes = last.count * units_.element_bytes();
    const auto follows = [bytes](const Place& a, const Place& b) {
      return a.base == b.base && a.offset + bytes == b.offset;
    };
    return last.finish == next.finish && last.operands == next.operands &&
           follows(last.destination, next.destination) &&
           std::ranges::equal(program_.operands_of(last), operands, follows);
  }

  std::uint32_t add(Operation operation, Accesses touched) {
    operation.round = program_.rounds;
    program_.operations.push_back(operation);
    touched_.push_back(std::move(touched));
    is_followed_.push_back(false);
    return size_of(program_.operations) - 1;
  }

  // Dependencies.

  /// The operations from `first` on start when some others are done.
  void add_batch(std::uint32_t first, std::span<const std::uint32_t> before) {
    const auto index = size_of(program_.batches);
    Batch batch{.first = first, .end = size_of(program_.operations)};
    if (program_.operations[first].verb != Verb::combine) {
      batch.first_message = program_.operations[first].message;
      batch.messages = batch.end - first;
    }
    program_.batches.push_back(batch);
    program_.needs.push_back(static_cast<std::uint32_t>(before.size()));
    if (before.empty()) program_.starts.push_back(index);
    for (const std::uint32_t earlier : before) links_.emplace_back(earlier, index);
  }

  /// Within a round what combines comes after what it reads has come, and after all that reads
  /// what it writes. @return which of the round's operations it comes after.
  [[nodiscard]] std::vector<std::uint32_t> before_in_round(const Accesses& touched) const {
    std::vector<std::uint32_t> before;
    for (std::uint32_t i = 0; i < touched_.size(); ++i)
      if (is_ordered(touched_[i], touched)) before.push_back(first_of_round_ + i);
    return before;
  }
  [[nodiscard]] bool is_ordered(const Accesses& before, const Accesses& after) const {
    const auto meet = [this](std::span<const Run> some, std::span<const Run> others) {
      return std::ranges::any_of(some, [&](const Run& a) {
        return std::ranges::any_of(others, [&](const Run& b) {
          const bool is_arrival = a.base == Base::arriving && b.base == Base::arriving;
          return is_arrival ? a.place == b.place : overlap(a, b, in_place_);
        });
      });
    };
    return meet(before.writes, after.reads) || meet(before.writes, after.writes) ||
           meet(before.reads, after.writes);
  }

  void begin_round() {
    touched_.clear();
    is_followed_.clear();
    before_last_.clear();
    first_of_round_ = size_of(program_.operations);
  }
  /// The next round comes after all that nothing else of this one comes after.
  void end_round() {
    if (touched_.empty()) return;
    last_.clear();
    for (std::uint32_t i = 0; i < touched_.size(); ++i)
      if (!is_followed_[i]) last_.push_back(first_of_round_ + i);
  }

  void connect() {
    std::ranges::stable_sort(links_, {}, &std::pair<std::uint32_t, std::uint32_t>::first);
    program_.operations.emplace_back();
    auto link = links_.begin();
    for (std::uint32_t i = 0; i < program_.operations.size(); ++i) {
      program_.operations[i].first_next = size_of(program_.next);
      for (; link != links_.end() && link->first == i; ++link)
        program_.next.push_back(link->second);
    }
    for (Batch& batch : program_.batches) {
      const auto is_like_first = [&](std::uint32_t operation) {
        return std::ranges::equal(program_.next_of(operation), program_.next_of(batch.first));
      };
      batch.is_uniform = true;
      for (std::uint32_t i = batch.first; i < batch.end; ++i)
        batch.is_uniform = batch.is_uniform && is_like_first(i);
    }
  }

  template <class T>
  [[nodiscard]] static std::uint32_t size_of(const std::vector<T>& list) noexcept {
    return static_cast<std::uint32_t>(list.size());
  }

  const Schedule& schedule_;
  const LoweringOptions& lowering_;
  bool in_place_;
  Rounds rounds_;
  Units units_;
  Homes homes_;
  Program program_{};
  LoweredRound before_{};
  std::map<std::pair<Rank, bool>, std::uint32_t> turns_{};
  std::vector<std::uint32_t> receives_{};  // by arrival: the message of the round
  std::uint32_t first_of_round_ = 0;
  std::vector<Accesses> touched_{};           // by operation of the round
  std::vector<bool> is_followed_{};           // likewise: by another one of the round
  std::vector<std::uint32_t> before_last_{};  // what its last operation comes after
  std::vector<std::uint32_t> last_{};         // operations that the next round comes after
  std::vector<std::pair<std::uint32_t, std::uint32_t>> links_{};  // operation, batch after it
};

}  // namespace

Program lower(const Schedule& schedule, const Layout& layout, const LoweringOptions& lowering,
              Segment segment, bool in_place) {
  return MessageLowering{schedule, layout, lowering, segment, in_place}.run();
}

}  // namespace tutti::inline v0::detail
