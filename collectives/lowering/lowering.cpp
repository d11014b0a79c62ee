#include "lowering.hpp"

#include <algorithm>
#include <utility>

namespace tutti::v0::detail {

Programs::Programs(Schedule schedule, Layout layout, const LoweringOptions& lowering)
    : schedule_{std::move(schedule)}, layout_{std::move(layout)}, lowering_{lowering},
      footprint_{sizeof(Programs) + schedule_.footprint() +
                 (lowering.contributions ? lowering.contributions->footprint() : 0)} {}

/// Segments of equal blocks have at most two lengths, which differ by one element. All segments of
/// one length share a program.
Programs::Found Programs::find(std::size_t segment, bool in_place) {
  std::size_t kind = segment;
  std::size_t shift = 0;
  if (layout_.is_equal()) {
    const Partition segments{layout_.largest(), lowering_.segments};
    kind = segments.size(segment) < segments.size(0) ? 1 : 0;
    shift = segments.offset(segment) * lowering_.element_bytes;
  }
  const std::size_t index = 2 * kind + (in_place ? 1 : 0);
  if (index >= programs_.size()) {
    footprint_ += (index + 1 - programs_.size()) * sizeof(programs_.front());
    programs_.resize(index + 1);
  }
  if (programs_[index] == nullptr) {
    programs_[index] = std::make_unique<const Program>(
        lower(schedule_, layout_, lowering_, {segment, lowering_.segments}, in_place));
    footprint_ += sizeof(Program) + programs_[index]->footprint();
  }
  return {programs_[index].get(), shift};
}

}  // namespace tutti::v0::detail
