// Reads schedules from XML of MSCCL.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include <tutti/error.hpp>

#include "schedules/msccl.hpp"
#include "schedules/msccl_rounds.hpp"
#include "schedules/written.hpp"
#include "schedules/written_xml.hpp"

namespace tutti::v0 {

using namespace written;  // NOLINT(google-build-using-namespace): the readers of parts

namespace {

constexpr std::array<std::pair<Collective, std::string_view>, 4> kNames{
    {{Collective::all_reduce, "allreduce"},
     {Collective::all_gather, "allgather"},
     {Collective::reduce_scatter, "reducescatter"},
     {Collective::all_to_all, "alltoall"}}};

std::string_view space_of(const std::string& buffer) {
  if (buffer == "i") return "in";
  if (buffer == "o") return "out";
  if (buffer == "s") return "scratch";
  return buffer;
}

/// A step that tutti wrote, or a piece of one.
Step read_step(const XmlStep& xml, const XmlBlock& block, const WrittenShape& shape) {
  WrittenStep step{.space = space_of(xml.dstbuf),
                   .first = xml.dstoff,
                   .count = xml.cnt,
                   .from_space = space_of(xml.srcbuf),
                   .from_first = xml.srcoff,
                   .side = xml.side};
  if (xml.type == "s") {
    step.space = step.from_space;
    step.first = xml.srcoff;
  }
  if (!xml.space.empty()) {  // slots of tutti
    step.space = xml.space;
    step.first = xml.first;
    step.from_space = xml.from_space;
    step.from_first = xml.from_first;
  }
  if (xml.type == "s") {
    step.kind = "send";
    step.peer = block.send;
  } else if (xml.type == "r" || xml.type == "rrc") {
    step.kind = xml.type == "r" ? "recv" : "recv_reduce";
    step.peer = block.recv;
  } else if (xml.type == "re" || xml.type == "cpy") {
    step.kind = xml.type == "re" ? "reduce" : "copy";
  } else if (xml.type == "nop" && xml.finish == 1) {
    step.kind = "finish";
  } else {
    reject_written(
        fmt::format("a step of type '{}' has no place in a round", xml.type.substr(0, 40)));
  }
  return step_of(step, shape);
}

/// Steps by round and order; pieces of one step follow each other.
using Places = std::map<std::pair<std::int64_t, std::int64_t>, Step>;

void add_piece(Places& places, const XmlStep& xml, const Step& piece) {
  if (xml.round < 0 || xml.order < 0) reject_written("a step lacks its round or its order");
  const auto [found, is_new] = places.try_emplace({xml.round, xml.order}, piece);
  if (is_new) return;
  const Slots before = found->second.slots();
  const Slots more = piece.slots();
  const Slots both{before.space, before.first, before.count + more.count};
  const bool has_source = piece.kind() == Step::Kind::copy || piece.kind() == Step::Kind::reduce;
  Slots from = has_source ? found->second.from() : Slots{};
  const bool goes_on =
      !has_source || (found->second.kind() == piece.kind() && piece.from().space == from.space &&
                      piece.from().first == from.first + before.count);
  from.count = both.count;
  Step joined = Finish{both};
  if (piece.kind() == Step::Kind::send) joined = Send{piece.peer(), both};
  else if (piece.kind() == Step::Kind::recv) joined = Recv{piece.peer(), both};
  else if (piece.kind() == Step::Kind::recv_reduce)
    joined = RecvReduce{piece.peer(), both, piece.side()};
  else if (piece.kind() == Step::Kind::copy) joined = Copy{from, both};
  else if (piece.kind() == Step::Kind::reduce) joined = Reduce{from, both, piece.side()};
  const bool fits = goes_on && found->second.kind() == piece.kind() &&
                    (!piece.has_peer() || found->second.peer() == piece.peer()) &&
                    found->second.side() == piece.side() && more.space == before.space &&
                    more.first == before.first + before.count;
  if (!fits)
    reject_written(
        fmt::format("two steps of round {} have the same order {}", xml.round, xml.order));
  found->second = joined;
}

Schedule read_rank(const XmlRank& rank, const WrittenShape& shape) {
  Places places;
  for (const XmlBlock& block : rank.blocks)
    for (std::size_t i = 0; i < block.steps.size(); ++i) try {
        const XmlStep& step = block.steps[i];
        const bool is_own_copy = step.type == "cpy" && step.round < 0;  // for other readers
        if ((step.type != "nop" || step.finish == 1) && !is_own_copy)
          add_piece(places, step, read_step(step, block, shape));
      } catch (const Error& error) {
        const WrittenPlace place{block.id, static_cast<std::int64_t>(i)};
        reject_written(text_of_place(static_cast<std::size_t>(rank.id), place) + ": " +
                       error.what());
      }
  Schedule schedule{static_cast<std::uint32_t>(shape.units),
                    static_cast<std::uint32_t>(shape.planes), rank.paced == 1};
  std::int64_t round = 0;
  for (const auto& [place, step] : places) {
    if (place.first != round) schedule.end_round();
    round = place.first;
    schedule.add(step);
  }
  return schedule.end_round();
}

Collective collective_of(const std::string& coll) {
  for (const auto& [collective, name] : kNames)
    if (name == coll) return collective;
  return written_collective(coll);
}

}  // namespace

std::string_view written::msccl_name(Collective collective) noexcept {
  for (const auto& [known, name] : kNames)
    if (known == collective) return name;
  return name_of(collective);
}

WrittenSchedules read_msccl_schedules(std::string_view text) {
  XmlAlgorithm xml = parse_xml(text);
  WrittenSchedules written{.name = xml.name, .collective = collective_of(xml.coll)};
  std::ranges::stable_sort(xml.ranks, {}, &XmlRank::id);
  for (std::size_t rank = 0; rank < xml.ranks.size(); ++rank)
    if (xml.ranks[rank].id != static_cast<std::int64_t>(rank))
      reject_written(
          fmt::format("there is not one <gpu> for each id from 0 on; {} is missing", rank));
  if (xml.ngpus != static_cast<std::int64_t>(xml.ranks.size()))
    reject_written(
        fmt::format("ngpus is {}, and there are {} of them", xml.ngpus, xml.ranks.size()));
  if (xml.units < 0) {
    add_rounds(xml, written.collective, written);
    return written;
  }
  const WrittenShape shape{
      .size = xml.ngpus, .root = xml.root, .units = xml.units, .planes = xml.planes};
  check(shape);
  written.root = static_cast<Rank>(xml.root);
  for (const XmlRank& rank : xml.ranks) written.schedules.push_back(read_rank(rank, shape));
  return written;
}

}  // namespace tutti::v0
