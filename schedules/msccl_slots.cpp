#include "schedules/msccl_slots.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include <tutti/error.hpp>

#include "schedules/written.hpp"

namespace tutti::v0::written {

SlotLayout::SlotLayout(const XmlAlgorithm& xml, Collective collective)
    : contract_{collective, static_cast<int>(xml.ranks.size()), 0}, in_place_{xml.inplace == 1} {
  const std::int64_t blocks = contract_.blocks();
  const std::int64_t held = collective == Collective::all_to_all ? contract_.size : blocks;
  if (xml.chunks < 1 || xml.chunks % held != 0)
    reject_written(fmt::format("nchunksperloop is {}, which is impossible for {} on {} ranks",
                               xml.chunks, name_of(collective), contract_.size));
  per_block_ = xml.chunks / held;
  units_ = per_block_ * blocks;
  for (const XmlRank& rank : xml.ranks)
    for (const XmlBlock& block : rank.blocks)
      for (const XmlStep& step : block.steps)
        if (step.dstbuf == "s") planes_ = std::max(planes_, step.dstoff + step.cnt);
  const WrittenShape shape{contract_.size, 0, units_, planes_};
  check(shape);
  holds_.resize(static_cast<std::size_t>(contract_.size));
}

Slots SlotLayout::read(std::size_t rank, char buffer, std::int64_t chunk) const {
  if (buffer != 's') return outer(rank, buffer, chunk);
  const auto found = holds_[rank].find(chunk);
  if (found == holds_[rank].end()) reject_written("a step reads scratch that no step has written");
  return scratch(chunk, found->second);
}

Slots SlotLayout::write(std::size_t rank, char buffer, std::int64_t chunk, const Slots& from) {
  if (buffer != 's') return outer(rank, buffer, chunk);
  const std::int64_t unit = from.first % units_;
  written_.push_back({rank, chunk, unit});
  return scratch(chunk, unit);
}

void SlotLayout::end_round() {
  for (const auto& [rank, chunk, unit] : written_) holds_[rank][chunk] = unit;
  written_.clear();
}

Slots SlotLayout::scratch(std::int64_t chunk, std::int64_t unit) const {
  return {Space::scratch, static_cast<std::uint32_t>(chunk * units_ + unit), 1};
}

/// The slot of a chunk of the input or the output.
Slots SlotLayout::outer(std::size_t rank, char buffer, std::int64_t chunk) const {
  const auto self = static_cast<std::int64_t>(rank);
  const std::int64_t n = contract_.size;
  const bool is_input = buffer == 'i';
  const Space space = is_input && !in_place_ ? Space::in : Space::out;
  std::int64_t unit = chunk;
  if (contract_.collective == Collective::all_to_all) {
    const std::int64_t other = chunk / per_block_;
    unit = (is_input ? self * n + other : other * n + self) * per_block_ + chunk % per_block_;
    return slot(is_input ? Space::in : Space::out, unit);
  }
  const bool has_one_block = is_input ? contract_.collective == Collective::all_gather
                                      : contract_.collective == Collective::reduce_scatter;
  if (has_one_block) unit += self * per_block_;
  return slot(space, unit);
}

Slots SlotLayout::slot(Space space, std::int64_t unit) const {
  if (unit >= units_) reject_written("a step uses a chunk beyond the end of its buffer");
  return {space, static_cast<std::uint32_t>(unit), 1};
}

}  // namespace tutti::v0::written
