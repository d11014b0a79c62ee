// Schedules as XML of MSCCL: a threadblock for every peer and direction, and one for local steps.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "command/msccl.hpp"
#include "schedules/msccl.hpp"

namespace tutti::perf {
namespace {

using StepKind = Step::Kind;

/// A step, or a piece of one: what is sent as one run may be received as several, or the other way
/// round, but there both ends count alike.
struct Piece {
  Step step;
  std::size_t round = 0;
  std::size_t order = 0;             // of the step in its round
  std::size_t block = 0;             // the threadblock it is in,
  std::size_t number = 0;            // and at which place
  std::vector<std::size_t> waits{};  // for these other pieces of the rank
};

Step cut(const Step& step, std::uint32_t skip, std::uint32_t count) {
  Slots slots = step.slots();
  slots.first += skip;
  slots.count = count;
  if (step.kind() == StepKind::send) return Send{step.peer(), slots};
  if (step.kind() == StepKind::recv) return Recv{step.peer(), slots};
  return RecvReduce{step.peer(), slots, step.side()};
}

bool overlap(const Slots& a, const Slots& b) noexcept {
  return a.space == b.space && a.first < b.first + b.count && b.first < a.first + a.count;
}
bool writes(const Step& step) noexcept {
  return step.kind() != StepKind::send && step.kind() != StepKind::finish;
}
bool has_source(const Step& step) noexcept {
  return step.kind() == StepKind::reduce || step.kind() == StepKind::copy;
}
/// Whether one of two steps writes what the other one touches.
bool conflict(const Step& a, const Step& b) noexcept {
  if (a.kind() == StepKind::finish || b.kind() == StepKind::finish) return false;
  return ((writes(a) || writes(b)) && overlap(a.slots(), b.slots())) ||
         (has_source(a) && writes(b) && overlap(a.from(), b.slots())) ||
         (has_source(b) && writes(a) && overlap(b.from(), a.slots()));
}

/// Where the runs of one message end, counted in slots, at either end. Messages of two ranks are
/// told apart by their number.
using Cuts = std::map<std::tuple<Rank, Rank, std::size_t>, std::vector<std::uint32_t>>;

/// Visits the messages of a rank: visit(step, round, order, other end, which message, slots
/// before).
template <class Visit>
void for_each_message_step(const Schedule& schedule, Visit visit) {
  std::map<std::pair<Rank, bool>, std::size_t> messages;  // so far, by peer and direction
  for (std::size_t round = 0; round < schedule.rounds(); ++round) {
    std::map<std::pair<Rank, bool>, std::uint32_t> slots;
    const std::span<const Step> steps = schedule.round(round);
    for (const Step& step : steps) {
      if (!step.has_peer()) continue;
      const std::pair key{step.peer(), step.kind() == StepKind::send};
      visit(step, messages[key], slots[key]);
      slots[key] += step.slots().count;
    }
    for (const auto& [key, count] : slots) ++messages[key];
  }
}

std::tuple<Rank, Rank, std::size_t> key_of(Rank rank, const Step& step, std::size_t message) {
  return step.kind() == StepKind::send ? std::tuple{rank, step.peer(), message}
                                       : std::tuple{step.peer(), rank, message};
}

Cuts cuts_of(std::span<const Schedule> schedules) {
  Cuts cuts;
  for (std::size_t rank = 0; rank < schedules.size(); ++rank)
    for_each_message_step(schedules[rank], [&](const Step& step, std::size_t message,
                                               std::uint32_t before) {
      cuts[key_of(static_cast<Rank>(rank), step, message)].push_back(before + step.slots().count);
    });
  for (auto& [key, ends] : cuts) {
    std::ranges::sort(ends);
    ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  }
  return cuts;
}

/// The pieces of a rank, in an order in which they may run: what reads before what writes.
std::vector<Piece> pieces_of(const Schedule& schedule, Rank rank, const Cuts& cuts) {
  std::vector<std::vector<Step>> parts;  // of each step with a peer, in the order of the schedule
  for_each_message_step(schedule, [&](const Step& step, std::size_t message, std::uint32_t before) {
    std::uint32_t at = before;
    std::vector<Step>& into = parts.emplace_back();
    for (const std::uint32_t end : cuts.at(key_of(rank, step, message)))
      if (end > at && end <= before + step.slots().count) {
        into.push_back(cut(step, at - before, end - at));
        at = end;
      }
  });
  std::vector<Piece> pieces;
  std::size_t next = 0;
  for (std::size_t round = 0; round < schedule.rounds(); ++round) {
    std::vector<Piece> of_round;
    const std::span<const Step> steps = schedule.round(round);
    for (std::size_t order = 0; order < steps.size(); ++order) {
      if (!steps[order].has_peer()) of_round.push_back({steps[order], round, order});
      else
        for (const Step& part : parts[next++]) of_round.push_back({part, round, order});
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

/// A threadblock: peer and direction, or -1 for local steps.
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

/// Per other threadblock the last piece that must be over: the ones before it are then, too.
void find_waits(std::vector<Piece>& pieces, std::size_t blocks) {
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    std::vector<std::optional<std::size_t>> last(blocks);
    for (std::size_t k = 0; k < i; ++k)
      if (pieces[k].block != pieces[i].block && conflict(pieces[k].step, pieces[i].step))
        last[pieces[k].block] = k;
    for (const auto& wait : last)
      if (wait) pieces[i].waits.push_back(*wait);
  }
}

/// A step waits for one other at most; a nop before it waits for each further one.
void number_steps(std::vector<Piece>& pieces, const std::vector<Block>& blocks) {
  for (const Block& block : blocks) {
    std::size_t number = 0;
    for (const std::size_t i : block.pieces) {
      if (pieces[i].waits.size() > 1) number += pieces[i].waits.size() - 1;
      pieces[i].number = number++;
    }
  }
}

char letter(Space space) noexcept {
  return space == Space::in ? 'i' : space == Space::out ? 'o' : 's';
}

std::string line_of(const Piece& piece, const std::vector<Piece>& pieces, bool is_awaited) {
  constexpr std::string_view kTypes[] = {"s", "r", "rrc", "re", "cpy", "nop"};
  const Slots into = piece.step.slots();
  const Slots from = has_source(piece.step) ? piece.step.from() : into;
  const bool waits = !piece.waits.empty();
  const Piece* const awaited = waits ? &pieces[piece.waits.back()] : nullptr;
  std::string line = fmt::format(
      R"(      <step s="{}" type="{}" srcbuf="{}" srcoff="{}" dstbuf="{}" dstoff="{}" cnt="{}" )"
      R"(depid="{}" deps="{}" hasdep="{}" round="{}" order="{}")",
      piece.number, kTypes[static_cast<std::size_t>(piece.step.kind())], letter(from.space),
      from.first, letter(into.space), into.first, into.count,
      waits ? static_cast<std::int64_t>(awaited->block) : -1,
      waits ? static_cast<std::int64_t>(awaited->number) : -1, is_awaited ? 1 : 0, piece.round,
      piece.order);
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

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '&') result += "&amp;";
    else if (c == '<') result += "&lt;";
    else if (c == '"') result += "&quot;";
    else result += c;
  }
  return result;
}

}  // namespace

std::string to_msccl(const Printed& printed) {
  const Schedule none{1};
  const Schedule& any = printed.schedules.empty() ? none : printed.schedules.front();
  const std::uint64_t units = any.units();
  std::string text = fmt::format(
      R"(<algo name="{}" proto="Simple" nchannels="1" nchunksperloop="{}" ngpus="{}" coll="{}" )"
      R"(inplace="1" outofplace="0" minBytes="0" maxBytes="0" root="{}" units="{}" planes="{}">)"
      "\n",
      escaped(printed.algorithm), units, printed.schedules.size(),
      written::msccl_name(printed.collective), printed.root, units, any.planes());
  const Cuts cuts = cuts_of(printed.schedules);
  for (std::size_t rank = 0; rank < printed.schedules.size(); ++rank) {
    std::vector<Piece> pieces = pieces_of(printed.schedules[rank], static_cast<Rank>(rank), cuts);
    const std::vector<Block> blocks = blocks_of(pieces);
    find_waits(pieces, blocks.size());
    number_steps(pieces, blocks);
    text += fmt::format(R"(  <gpu id="{}" i_chunks="{}" o_chunks="{}" s_chunks="{}"{}>)"
                        "\n",
                        rank, units, units, units * any.planes(),
                        printed.schedules[rank].paced() ? R"( paced="1")" : "");
    text += text_of(blocks, pieces) + "  </gpu>\n";
  }
  return text + "</algo>\n";
}

}  // namespace tutti::perf
