// Schedules as XML of MSCCL: a threadblock for every peer and direction, and one for local steps.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "schedules/msccl.hpp"
#include "schedules/msccl_chunks.hpp"
#include "schedules/print_msccl.hpp"

namespace tutti::v0 {
namespace {

using StepKind = Step::Kind;

/// A step, or a part of one. One run of chunks at the sender can be several at the receiver, or
/// vice versa, but MSCCL requires equal counts at both ends.
struct Piece {
  Step step;
  MscclChunk into{};  // written, or sent
  MscclChunk from{};  // source of local steps; else equal to `into`
  std::size_t round = 0;
  std::size_t order = 0;   // position of the step in its round
  bool is_ours = true;     // false: copy of an own block, which is no step of the schedule
  std::size_t block = 0;   // index of its threadblock
  std::size_t number = 0;  // position in the threadblock
  std::vector<std::size_t> waits{};  // pieces of the rank that must end before
};

Step cut(const Step& step, std::uint32_t skip, std::uint32_t count) {
  const Slots slots{step.slots().space, step.slots().first + skip, count};
  switch (step.kind()) {
    case StepKind::send: return Send{step.peer(), slots};
    case StepKind::recv: return Recv{step.peer(), slots};
    case StepKind::recv_reduce: return RecvReduce{step.peer(), slots, step.side()};
    case StepKind::finish: return Finish{slots};
    case StepKind::reduce:
    case StepKind::copy: break;
  }
  const Slots from{step.from().space, step.from().first + skip, count};
  if (step.kind() == StepKind::copy) return Copy{from, slots};
  return Reduce{from, slots, step.side()};
}

bool overlap(const MscclChunk& a, const MscclChunk& b, const Piece& one,
             const Piece& other) noexcept {
  return a.buffer == b.buffer && a.number < b.number + other.step.slots().count &&
         b.number < a.number + one.step.slots().count;
}
bool writes(const Step& step) noexcept {
  return step.kind() != StepKind::send && step.kind() != StepKind::finish;
}
bool has_source(const Step& step) noexcept {
  return step.kind() == StepKind::reduce || step.kind() == StepKind::copy;
}
/// Whether one of two steps writes chunks that the other one reads or writes.
bool conflict(const Piece& a, const Piece& b) noexcept {
  if (a.step.kind() == StepKind::finish || b.step.kind() == StepKind::finish) return false;
  return ((writes(a.step) || writes(b.step)) && overlap(a.into, b.into, a, b)) ||
         (has_source(a.step) && writes(b.step) && overlap(a.from, b.into, a, b)) ||
         (has_source(b.step) && writes(a.step) && overlap(a.into, b.from, a, b));
}

MscclChunk into_of(const MscclChunks& chunks, Rank rank, const Step& step, std::uint32_t at,
                   std::size_t round) {
  const std::uint32_t slot = step.slots().first + at;
  return writes(step) ? chunks.written(rank, step.slots().space, slot)
                      : chunks.read(rank, step.slots().space, slot, round);
}
MscclChunk from_of(const MscclChunks& chunks, Rank rank, const Step& step, std::uint32_t at,
                   std::size_t round) {
  if (!has_source(step)) return into_of(chunks, rank, step, at, round);
  return chunks.read(rank, step.from().space, step.from().first + at, round);
}

/// The ends of runs of consecutive chunks, counted in slots of the step.
std::vector<std::uint32_t> run_ends(const MscclChunks& chunks, Rank rank, const Step& step,
                                    std::size_t round) {
  const auto follows = [](const MscclChunk& a, const MscclChunk& b) {
    return a.buffer == b.buffer && a.number + 1 == b.number;
  };
  std::vector<std::uint32_t> ends;
  for (std::uint32_t i = 1; i < step.slots().count; ++i)
    if (!follows(into_of(chunks, rank, step, i - 1, round),
                 into_of(chunks, rank, step, i, round)) ||
        !follows(from_of(chunks, rank, step, i - 1, round), from_of(chunks, rank, step, i, round)))
      ends.push_back(i);
  ends.push_back(step.slots().count);
  return ends;
}

/// The ends of runs at either end of a message, counted in slots. Messages between two ranks are
/// distinguished by their number.
using Cuts = std::map<std::tuple<Rank, Rank, std::size_t>, std::vector<std::uint32_t>>;

/// Visits the messages of a rank: visit(step, round, number of the message, slots before).
template <class Visit>
void for_each_message_step(const Schedule& schedule, Visit visit) {
  std::map<std::pair<Rank, bool>, std::size_t> messages;  // counts by peer and direction
  for (std::size_t round = 0; round < schedule.rounds(); ++round) {
    std::map<std::pair<Rank, bool>, std::uint32_t> slots;
    const std::span<const Step> steps = schedule.round(round);
    for (const Step& step : steps) {
      if (!step.has_peer()) continue;
      const std::pair key{step.peer(), step.kind() == StepKind::send};
      visit(step, round, messages[key], slots[key]);
      slots[key] += step.slots().count;
    }
    for (const auto& [key, count] : slots) ++messages[key];
  }
}

std::tuple<Rank, Rank, std::size_t> key_of(Rank rank, const Step& step, std::size_t message) {
  return step.kind() == StepKind::send ? std::tuple{rank, step.peer(), message}
                                       : std::tuple{step.peer(), rank, message};
}

Cuts cuts_of(std::span<const Schedule> schedules, const MscclChunks& chunks) {
  Cuts cuts;
  for (std::size_t rank = 0; rank < schedules.size(); ++rank) {
    const auto self = static_cast<Rank>(rank);
    for_each_message_step(schedules[rank], [&](const Step& step, std::size_t round,
                                               std::size_t message, std::uint32_t before) {
      std::vector<std::uint32_t>& ends = cuts[key_of(self, step, message)];
      for (const std::uint32_t end : run_ends(chunks, self, step, round))
        ends.push_back(before + end);
    });
  }
  for (auto& [key, ends] : cuts) {
    std::ranges::sort(ends);
    ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  }
  return cuts;
}

/// The pieces of a rank, in an order in which they can run: in each round, reads come before
/// writes.
std::vector<Piece> pieces_of(const Schedule& schedule, Rank rank, const Cuts& cuts,
                             const MscclChunks& chunks) {
  std::vector<std::vector<Step>> parts;  // of each step with a peer, in the order of the schedule
  for_each_message_step(
      schedule, [&](const Step& step, std::size_t, std::size_t message, std::uint32_t before) {
        std::uint32_t at = before;
        std::vector<Step>& into = parts.emplace_back();
        for (const std::uint32_t end : cuts.at(key_of(rank, step, message)))
          if (end > at && end <= before + step.slots().count) {
            into.push_back(cut(step, at - before, end - at));
            at = end;
          }
      });
  std::vector<Piece> pieces;
  if (chunks.lacks_own_block(rank)) {
    const Slots own = chunks.own_block(rank, Space::in);
    const Step copy = Copy{own, chunks.own_block(rank, Space::out)};
    pieces.push_back({.step = copy,
                      .into = into_of(chunks, rank, copy, 0, 0),
                      .from = from_of(chunks, rank, copy, 0, 0),
                      .is_ours = false});
  }
  std::size_t next = 0;
  for (std::size_t round = 0; round < schedule.rounds(); ++round) {
    std::vector<Piece> of_round;
    const std::span<const Step> steps = schedule.round(round);
    const auto add = [&](const Step& part, std::size_t order) {
      of_round.push_back({.step = part,
                          .into = into_of(chunks, rank, part, 0, round),
                          .from = from_of(chunks, rank, part, 0, round),
                          .round = round,
                          .order = order});
    };
    for (std::size_t order = 0; order < steps.size(); ++order) {
      if (steps[order].has_peer()) {
        for (const Step& part : parts[next++]) add(part, order);
        continue;
      }
      std::uint32_t at = 0;
      for (const std::uint32_t end : run_ends(chunks, rank, steps[order], round)) {
        add(cut(steps[order], at, end - at), order);
        at = end;
      }
    }
    std::ranges::stable_sort(of_round, {}, [](const Piece& piece) {
      return piece.step.kind() == StepKind::send     ? 0
             : piece.step.kind() == StepKind::finish ? 2
                                                     : 1;
    });
    pieces.insert(pieces.end(), of_round.begin(), of_round.end());
  }
  return pieces;
}

/// A threadblock: its peer and direction, or -1 and -1 for local steps.
struct Block {
  Rank send = -1;
  Rank recv = -1;
  std::vector<std::size_t> pieces{};
};

std::vector<Block> blocks_of(std::vector<Piece>& pieces) {
  std::vector<Block> blocks;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const Step& step = pieces[i].step;
    const Rank send = step.kind() == StepKind::send ? step.peer() : -1;
    const Rank recv = step.has_peer() && step.kind() != StepKind::send ? step.peer() : -1;
    auto block = std::ranges::find_if(
        blocks, [&](const Block& other) { return other.send == send && other.recv == recv; });
    if (block == blocks.end()) block = blocks.insert(block, {send, recv});
    pieces[i].block = static_cast<std::size_t>(block - blocks.begin());
    block->pieces.push_back(i);
  }
  return blocks;
}

/// Finds the last conflicting piece of each other threadblock. Earlier pieces of it end before that
/// one.
void find_waits(std::vector<Piece>& pieces, std::size_t blocks) {
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    std::vector<std::optional<std::size_t>> last(blocks);
    for (std::size_t k = 0; k < i; ++k)
      if (pieces[k].block != pieces[i].block && conflict(pieces[k], pieces[i]))
        last[pieces[k].block] = k;
    for (const auto& wait : last)
      if (wait) pieces[i].waits.push_back(*wait);
  }
}

/// A step can wait for one other step. Before it, a nop waits for each further one.
void number_steps(std::vector<Piece>& pieces, const std::vector<Block>& blocks) {
  for (const Block& block : blocks) {
    std::size_t number = 0;
    for (const std::size_t i : block.pieces) {
      if (pieces[i].waits.size() > 1) number += pieces[i].waits.size() - 1;
      pieces[i].number = number++;
    }
  }
}

std::string_view word_of(Space space) noexcept {
  return space == Space::in ? "in" : space == Space::out ? "out" : "scratch";
}

std::string line_of(const Piece& piece, const std::vector<Piece>& pieces, bool is_awaited) {
  constexpr std::string_view kTypes[] = {"s", "r", "rrc", "re", "cpy", "nop"};
  const Slots into = piece.step.slots();
  const bool waits = !piece.waits.empty();
  const Piece* const awaited = waits ? &pieces[piece.waits.back()] : nullptr;
  std::string line = fmt::format(
      R"(      <step s="{}" type="{}" srcbuf="{}" srcoff="{}" dstbuf="{}" dstoff="{}" cnt="{}" )"
      R"(depid="{}" deps="{}" hasdep="{}")",
      piece.number, kTypes[static_cast<std::size_t>(piece.step.kind())], piece.from.buffer,
      piece.from.number, piece.into.buffer, piece.into.number, into.count,
      waits ? static_cast<std::int64_t>(awaited->block) : -1,
      waits ? static_cast<std::int64_t>(awaited->number) : -1, is_awaited ? 1 : 0);
  if (!piece.is_ours) return line + "/>\n";
  line += fmt::format(R"( round="{}" order="{}" space="{}" first="{}")", piece.round, piece.order,
                      word_of(into.space), into.first);
  if (has_source(piece.step))
    line += fmt::format(R"( from_space="{}" from_first="{}")", word_of(piece.step.from().space),
                        piece.step.from().first);
  const bool reduces =
      piece.step.kind() == StepKind::recv_reduce || piece.step.kind() == StepKind::reduce;
  if (reduces && piece.step.side() == Side::right) line += R"( side="right")";
  if (piece.step.kind() == StepKind::finish) line += R"( finish="1")";
  return line + "/>\n";
}

std::string text_of(const std::vector<Block>& blocks, const std::vector<Piece>& pieces) {
  std::vector<bool> is_awaited(pieces.size(), false);
  for (const Piece& piece : pieces)
    for (const std::size_t wait : piece.waits) is_awaited[wait] = true;
  std::string text;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    text += fmt::format("    <tb id=\"{}\" send=\"{}\" recv=\"{}\" chan=\"0\">\n", b,
                        blocks[b].send, blocks[b].recv);
    for (const std::size_t i : blocks[b].pieces) {
      const Piece& piece = pieces[i];
      for (std::size_t w = 0; w + 1 < piece.waits.size(); ++w) {
        const Piece& awaited = pieces[piece.waits[w]];
        text += fmt::format(
            R"(      <step s="{}" type="nop" srcbuf="i" srcoff="-1" dstbuf="o" dstoff="-1" cnt="0" )"
            R"(depid="{}" deps="{}" hasdep="0"/>)"
            "\n",
            piece.number + w + 1 - piece.waits.size(), awaited.block, awaited.number);
      }
      text += line_of(piece, pieces, is_awaited[i]);
    }
    text += "    </tb>\n";
  }
  return text;
}

}  // namespace

std::string to_msccl(const Printed& printed) {
  const Schedule none{1};
  const Schedule& any = printed.schedules.empty() ? none : printed.schedules.front();
  const std::uint64_t units = any.units();
  const MscclChunks chunks{printed};
  std::string text = fmt::format(
      R"(<algo name="{}" proto="Simple" nchannels="1" nchunksperloop="{}" ngpus="{}" coll="{}" )"
      R"(inplace="{}" outofplace="{}" minBytes="0" maxBytes="0" root="{}" units="{}" planes="{}">)"
      "\n",
      escaped_for_xml(printed.algorithm), std::max(chunks.inputs(), chunks.outputs()),
      printed.schedules.size(), written::msccl_name(printed.collective), chunks.in_place() ? 1 : 0,
      chunks.in_place() ? 0 : 1, printed.root, units, any.planes());
  const Cuts cuts = cuts_of(printed.schedules, chunks);
  for (std::size_t rank = 0; rank < printed.schedules.size(); ++rank) {
    const auto self = static_cast<Rank>(rank);
    std::vector<Piece> pieces = pieces_of(printed.schedules[rank], self, cuts, chunks);
    const std::vector<Block> blocks = blocks_of(pieces);
    find_waits(pieces, blocks.size());
    number_steps(pieces, blocks);
    text += fmt::format(R"(  <gpu id="{}" i_chunks="{}" o_chunks="{}" s_chunks="{}"{}>)"
                        "\n",
                        rank, chunks.inputs(), chunks.outputs(), chunks.scratch(self),
                        printed.schedules[rank].paced() ? R"( paced="1")" : "");
    text += text_of(blocks, pieces) + "  </gpu>\n";
  }
  return text + "</algo>\n";
}

}  // namespace tutti::v0
