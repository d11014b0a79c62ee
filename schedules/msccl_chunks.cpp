#include "schedules/msccl_chunks.hpp"

#include <algorithm>

namespace tutti::v0 {

MscclChunks::MscclChunks(const Printed& printed)
    : contract_{printed.collective, std::max(static_cast<int>(printed.schedules.size()), 1),
                printed.root} {
  if (!printed.schedules.empty()) units_ = printed.schedules.front().units();
  parts_ = std::max(units_ / contract_.blocks(), 1U);
  for (const Schedule& schedule : printed.schedules) {
    const auto self = static_cast<Rank>(ranks_.size());
    RankChunks& rank = ranks_.emplace_back();
    for (std::size_t round = 0; round < schedule.rounds(); ++round)
      for (const Step& step : schedule.round(round))
        for (std::uint32_t i = 0; i < step.slots().count; ++i) {
          const Slots slots = step.slots();
          const bool writes = step.kind() != Step::Kind::send && step.kind() != Step::Kind::finish;
          if (writes && slots.space == Space::out)
            rank.written_at.try_emplace(slots.first + i, round);
          note(rank, self, slots.space, slots.first + i);
          if (step.kind() == Step::Kind::copy || step.kind() == Step::Kind::reduce)
            note(rank, self, step.from().space, step.from().first + i);
        }
    std::int64_t next = 0;
    for (auto& [slot, number] : rank.scratch_number) number = next++;
  }
}

bool MscclChunks::in_place() const noexcept {
  return contract_.collective != Collective::all_to_all;
}

bool MscclChunks::is_output(Rank rank, std::uint32_t slot) const noexcept {
  return contract_.wants_output(rank, block_of(slot));
}

std::uint64_t MscclChunks::key(Space space, std::uint32_t slot) const noexcept {
  return std::uint64_t{slot} + (space == Space::scratch ? units_ : 0);
}

void MscclChunks::note(RankChunks& rank, Rank self, Space space, std::uint32_t slot) {
  const bool is_foreign = space == Space::out && !in_place() && !is_output(self, slot);
  if (space == Space::scratch || is_foreign) rank.scratch_number.emplace(key(space, slot), 0);
}

MscclChunk MscclChunks::read(Rank rank, Space space, std::uint32_t slot, std::size_t round) const {
  if (in_place() || space == Space::scratch) return written(rank, space, slot);
  const auto& at = ranks_[static_cast<std::size_t>(rank)].written_at;
  const auto found = at.find(slot);
  const bool is_input = space == Space::in || found == at.end() || found->second >= round;
  if (!is_input || !contract_.has_input(rank, block_of(slot))) return written(rank, space, slot);
  const auto destination = block_of(slot) % static_cast<std::uint32_t>(contract_.size);
  return {'i', std::int64_t{destination} * parts_ + slot % parts_};
}

MscclChunk MscclChunks::written(Rank rank, Space space, std::uint32_t slot) const {
  const auto& numbers = ranks_[static_cast<std::size_t>(rank)].scratch_number;
  if (const auto found = numbers.find(key(space, slot));
      found != numbers.end() && space != Space::in)
    return {'s', found->second};
  if (in_place()) return {contract_.collective == Collective::reduce_scatter ? 'i' : 'o', slot};
  const auto source = block_of(slot) / static_cast<std::uint32_t>(contract_.size);
  return {'o', std::int64_t{source} * parts_ + slot % parts_};
}

Slots MscclChunks::own_block(Rank rank, Space space) const noexcept {
  const auto self = static_cast<std::uint32_t>(rank);
  return {space, self * static_cast<std::uint32_t>(contract_.size + 1) * parts_, parts_};
}

bool MscclChunks::lacks_own_block(Rank rank) const {
  return !in_place() && !ranks_[static_cast<std::size_t>(rank)].written_at.contains(
                            own_block(rank, Space::out).first);
}

std::int64_t MscclChunks::inputs() const noexcept {
  if (contract_.collective == Collective::all_gather) return parts_;
  return in_place() ? units_ : std::int64_t{parts_} * contract_.size;
}

std::int64_t MscclChunks::outputs() const noexcept {
  if (contract_.collective == Collective::reduce_scatter) return parts_;
  return in_place() ? units_ : std::int64_t{parts_} * contract_.size;
}

std::int64_t MscclChunks::scratch(Rank rank) const {
  return static_cast<std::int64_t>(ranks_[static_cast<std::size_t>(rank)].scratch_number.size());
}

}  // namespace tutti::v0
