// What an execution waits for.
#include <algorithm>
#include <string>

#include "execution.hpp"
#include "point_to_point.hpp"

namespace tutti::inline v0::detail {

Execution::Awaited Execution::awaited() const noexcept {
  // A missing receive accuses its sender; a missing send only its receiver's pace.
  for (const Transfer::Kind kind : {Transfer::Kind::recv, Transfer::Kind::send})
    for (const Instance& instance : instances_)
      for (std::size_t i = 0; i < instance.pending.size(); ++i)
        if (instance.pending[i].is_posted && !instance.pending[i].is_done &&
            instance.transfers[i].kind == kind)
          return {instance.transfers[i].peer, kind == Transfer::Kind::send};
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
  for (const Instance& instance : instances_) {
    const auto waited = std::ranges::find_if(instance.pending, [](const Pending& pending) {
      return pending.is_posted && !pending.is_done;
    });
    if (waited == instance.pending.end()) continue;
    const Program& program = *instance.program;
    const auto message = static_cast<std::size_t>(waited - instance.pending.begin());
    const std::uint32_t round = program.operations[program.messages[message]].round;
    text += ", round " + std::to_string(round + 1) + " of " + std::to_string(program.rounds);
    if (binding_->segments > 1)
      text += " of segment " + std::to_string(instance.segment + 1) + " of " +
              std::to_string(binding_->segments);
    break;
  }
  return text;
}

}  // namespace tutti::inline v0::detail
