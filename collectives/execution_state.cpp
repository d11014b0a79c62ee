// What an execution waits for.
#include <string>

#include "execution.hpp"
#include "point_to_point.hpp"

namespace tutti::inline v0::detail {

Execution::Awaited Execution::awaited() const noexcept {
  // A missing receive accuses its sender; a missing send only its receiver's pace.
  for (const Transfer::Kind kind : {Transfer::Kind::recv, Transfer::Kind::send})
    for (const Lane& lane : lanes_)
      for (std::size_t i = 0; lane.outstanding > 0 && i < lane.transfers.size(); ++i) {
        const Resolved& resolved = lane.resolved;
        const std::uint32_t begin = lane.round == 0 ? 0 : resolved.rounds[lane.round - 1].messages;
        if (i >= begin && i < resolved.rounds[lane.round].messages && !lane.pending[i].is_done &&
            lane.transfers[i].kind == kind)
          return {lane.transfers[i].peer, kind == Transfer::Kind::send};
      }
  return {};
}

CallWait Execution::wait(Duration now) const noexcept {
  return {.name = binding_->name,
          .number = binding_->is_collective ? turn_.sequence + 1 : 0,
          .tag = user_tag_,
          .rank = awaited().rank,
          .time = since_ < Duration::zero() ? Duration::zero() : now - since_};
}

std::string Execution::state() const {
  if (!binding_->is_collective) return words_of(*binding_, user_tag_);
  if (is_held_)
    return std::string{binding_->name} + " (" + binding_->algorithm +
           "), which waits for older calls to end";
  std::string text = std::string{binding_->name} + " #" + std::to_string(turn_.sequence + 1) +
                     " (" + binding_->algorithm + ")";
  for (const Lane& lane : lanes_) {
    if (lane.outstanding == 0) continue;
    text += ", round " + std::to_string(lane.round + 1) + " of " +
            std::to_string(lane.resolved.rounds.size());
    if (binding_->segments > 1)
      text += " of segment " + std::to_string(lane.segment + 1) + " of " +
              std::to_string(binding_->segments);
    break;
  }
  return text;
}

}  // namespace tutti::inline v0::detail
