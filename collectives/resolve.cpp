#include <algorithm>

#include "program.hpp"

namespace tutti::inline v0::detail {
namespace {

/// Turns units into bytes for one segment.
class Resolver {
 public:
  Resolver(const Program& program, const Layout& layout, Segment segment, std::size_t element_bytes,
           Resolved& resolved)
      : program_{program}, layout_{layout}, segment_{segment},
        element_bytes_{element_bytes}, resolved_{resolved} {}

  void run() {
    clear();
    place_held();
    BoundRound begin{0, 0, 0};
    for (const BoundRound& end : program_.rounds) {
      place_stages(begin.stages, end.stages);
      for (std::uint32_t i = begin.messages; i < end.messages; ++i) message(i);
      for (std::uint32_t i = begin.folds; i < end.folds; ++i) {
        const auto first = static_cast<std::uint32_t>(resolved_.folds.size());
        fold(program_.folds[i]);
        if (resolved_.folds.size() == first + 1) resolved_.fold_indices[i] = first;
      }
      begin = end;
      resolved_.rounds.push_back({static_cast<std::uint32_t>(resolved_.messages.size()),
                                  static_cast<std::uint32_t>(resolved_.folds.size())});
    }
    for (std::uint32_t i = 0; i < program_.messages.size(); ++i) shortcut(i);
    for (const BoundFold& result : program_.results) fold(result);
  }

 private:
  void clear() {
    resolved_.rounds.clear();
    resolved_.messages.clear();
    resolved_.pieces.clear();
    resolved_.folds.clear();
    resolved_.operands.clear();
    resolved_.held_offsets.clear();
    resolved_.stage_offsets.assign(program_.stages.size(), 0);
    resolved_.message_indices.assign(program_.messages.size(), kNoMessage);
    resolved_.fold_indices.assign(program_.folds.size(), kNoMessage);
    resolved_.staging_bytes = 0;
  }

  /// Elements of a unit, as a run inside its block.
  [[nodiscard]] Extent extent(std::uint32_t unit) const noexcept {
    return extent(unit / program_.parts, unit % program_.parts, 1);
  }
  /// Elements of `count` consecutive parts of a block, as a run inside it.
  [[nodiscard]] Extent extent(std::uint32_t block, std::uint32_t part,
                              std::uint32_t count) const noexcept {
    const Partition segments{layout_.count(block), segment_.count};
    const Partition parts{segments.size(segment_.index), program_.parts};
    const std::size_t begin = parts.offset(part);
    return {segments.offset(segment_.index) + begin, parts.offset(part + count) - begin};
  }

  void place_held() {
    std::size_t bytes = 0;
    for (const std::uint32_t id : program_.held) {
      resolved_.held_offsets.push_back(bytes);
      bytes += extent(id % program_.units).count * element_bytes_;
    }
    resolved_.held_bytes = bytes;
  }
  void place_stages(std::uint32_t begin, std::uint32_t end) {
    std::size_t bytes = 0;
    for (std::uint32_t i = begin; i < end; ++i) {
      resolved_.stage_offsets[i] = bytes;
      const Run& stage = program_.stages[i];
      for_each_block(
          stage, [&](Extent elements, std::uint32_t) { bytes += elements.count * element_bytes_; });
    }
    resolved_.staging_bytes = std::max(resolved_.staging_bytes, bytes);
  }

  /// Calls visit(extent inside the block, block) for the part of the run that lies in each block.
  template <class Visit>
  void for_each_block(const Run& run, Visit visit) const {
    for (std::uint32_t unit = run.first; unit < run.first + run.count;) {
      const std::uint32_t block = unit / program_.parts;
      const std::uint32_t part = unit % program_.parts;
      const std::uint32_t count = std::min(run.first + run.count - unit, program_.parts - part);
      visit(extent(block, part, count), block);
      unit += count;
    }
  }

  /// Where a run of our own memory begins; the caller's buffers are found block by block.
  [[nodiscard]] std::size_t start(const Run& run) const {
    if (run.base == Base::held) return resolved_.held_offsets[run.place];
    return run.base == Base::staging ? stage_offset(run) : 0;
  }
  /// Where the next piece of a run lies. `next` walks along memory of our own.
  [[nodiscard]] Place place(Base base, std::size_t& next, const Extent& elements,
                            std::uint32_t block) const {
    if (base == Base::in || base == Base::out) {
      const std::size_t first =
          base == Base::in ? layout_.in_offset(block) : layout_.out_offset(block);
      return {base, (first + elements.offset) * element_bytes_};
    }
    const std::size_t offset = next;
    next += elements.count * element_bytes_;
    return {base, offset};
  }

  /// Where a part of a stage begins: behind the stage's units before it.
  [[nodiscard]] std::size_t stage_offset(const Run& run) const {
    std::size_t bytes = resolved_.stage_offsets[run.place];
    const std::uint32_t first = program_.stages[run.place].first;
    for_each_block({Base::staging, first, run.first - first}, [&](Extent elements, std::uint32_t) {
      bytes += elements.count * element_bytes_;
    });
    return bytes;
  }

  void message(std::uint32_t index) {
    const BoundMessage& bound = program_.messages[index];
    const auto first = static_cast<std::uint32_t>(resolved_.pieces.size());
    for (std::uint32_t i = 0; i < bound.runs; ++i) {
      const Run& run = program_.runs[bound.first_run + i];
      std::size_t next = start(run);
      for_each_block(run, [&](Extent elements, std::uint32_t block) {
        piece(first, place(run.base, next, elements, block), elements.count * element_bytes_);
      });
    }
    const auto pieces = static_cast<std::uint32_t>(resolved_.pieces.size()) - first;
    // Mostly both ends see that there is nothing to say, so nothing is said.
    if (pieces == 0 && !program_.sends_empty) return;
    resolved_.message_indices[index] = static_cast<std::uint32_t>(resolved_.messages.size());
    resolved_.messages.push_back({.peer = bound.peer,
                                  .is_send = bound.is_send,
                                  .first_piece = first,
                                  .pieces = pieces,
                                  .fusing = bound.fusing,
                                  .first_fold = 0,
                                  .folds = 0});
  }
  /// A shortcut of a bound message holds for the resolved one where it is one piece, and so is what
  /// it becomes or comes from.
  void shortcut(std::uint32_t index) {
    const Shortcut& bound = program_.messages[index].shortcut;
    const std::uint32_t own = resolved_.message_indices[index];
    if (own == kNoMessage || resolved_.messages[own].pieces != 1) return;
    Shortcut& found = resolved_.messages[own].shortcut;
    found.operand = bound.operand;
    found.turn = bound.turn;
    if (bound.fold != kNoMessage) found.fold = resolved_.fold_indices[bound.fold];
    if (bound.reply != kNoMessage) {
      const std::uint32_t reply = resolved_.message_indices[bound.reply];
      if (reply != kNoMessage && resolved_.messages[reply].pieces == 1) {
        found.reply = reply;
        found.replying = bound.replying;
      }
    }
    if (bound.relays == kNoMessage) return;
    const std::uint32_t answers = resolved_.message_indices[bound.answers];
    if (answers == kNoMessage || resolved_.fold_indices[bound.relays] == kNoMessage) return;
    found.relays = resolved_.fold_indices[bound.relays];
    found.answers = answers;
  }
  void piece(std::uint32_t first, const Place& place, std::size_t bytes) {
    if (bytes == 0) return;
    if (resolved_.pieces.size() > first) {
      ResolvedPiece& last = resolved_.pieces.back();
      if (last.place.base == place.base && last.place.offset + last.bytes == place.offset) {
        last.bytes += bytes;
        return;
      }
    }
    resolved_.pieces.push_back({place, bytes});
  }

  void fold(const BoundFold& bound) {
    const Run* operands = &program_.runs[bound.first_operand];
    std::size_t next = start(bound.destination);
    resolved_.cursors.clear();
    for (std::uint32_t i = 0; i < bound.operands; ++i)
      resolved_.cursors.push_back(start(operands[i]));
    const std::size_t first_fold = resolved_.folds.size();
    for_each_block(bound.destination, [&](Extent elements, std::uint32_t block) {
      const auto first = static_cast<std::uint32_t>(resolved_.operands.size());
      const Place target = place(bound.destination.base, next, elements, block);
      for (std::uint32_t i = 0; i < bound.operands; ++i)
        resolved_.operands.push_back(
            place(operands[i].base, resolved_.cursors[i], elements, block));
      if (elements.count == 0 || extends_last(first_fold, target, first, bound.operands)) {
        if (elements.count > 0) resolved_.folds.back().count += elements.count;
        resolved_.operands.resize(first);
        return;
      }
      push_fold({.destination = target,
                 .first_operand = first,
                 .operands = bound.operands,
                 .finish = bound.finish,
                 .count = elements.count,
                 .message = bound.message == kNoMessage
                                ? kNoMessage
                                : resolved_.message_indices[bound.message]});
    });
  }
  void push_fold(const ResolvedFold& fold) {
    if (fold.message != kNoMessage) {
      ResolvedMessage& message = resolved_.messages[fold.message];
      if (message.folds == 0)
        message.first_fold = static_cast<std::uint32_t>(resolved_.folds.size());
      ++message.folds;
    }
    resolved_.folds.push_back(fold);
  }
  /// Whether the last fold's destination and operands all end where these begin.
  [[nodiscard]] bool extends_last(std::size_t first_fold, const Place& target, std::uint32_t first,
                                  std::uint32_t operands) const {
    if (resolved_.folds.size() == first_fold) return false;
    const ResolvedFold& last = resolved_.folds.back();
    const std::size_t bytes = last.count * element_bytes_;
    const auto follows = [bytes](const Place& a, const Place& b) {
      return a.base == b.base && a.offset + bytes == b.offset;
    };
    if (!follows(last.destination, target)) return false;
    for (std::uint32_t i = 0; i < operands; ++i)
      if (!follows(resolved_.operands[last.first_operand + i], resolved_.operands[first + i]))
        return false;
    return true;
  }

  const Program& program_;
  const Layout& layout_;
  Segment segment_;
  std::size_t element_bytes_;
  Resolved& resolved_;
};

}  // namespace

std::size_t Resolved::footprint() const noexcept {
  return rounds.capacity() * sizeof(Round) + messages.capacity() * sizeof(ResolvedMessage) +
         pieces.capacity() * sizeof(ResolvedPiece) + folds.capacity() * sizeof(ResolvedFold) +
         operands.capacity() * sizeof(Place) +
         (held_offsets.capacity() + stage_offsets.capacity() + cursors.capacity()) *
             sizeof(std::size_t) +
         (message_indices.capacity() + fold_indices.capacity()) * sizeof(std::uint32_t);
}

void resolve(const Program& program, const Layout& layout, Segment segment,
             std::size_t element_bytes, Resolved& resolved) {
  Resolver{program, layout, segment, element_bytes, resolved}.run();
}

}  // namespace tutti::inline v0::detail
