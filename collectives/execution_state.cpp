// What an execution waits for.
#include <string>

#include "execution.hpp"
#include "point_to_point.hpp"

namespace tutti::v0::detail {

/// Calls visit(message) for those that were posted and are not done, until it returns true.
template <class Visit>
void Execution::for_each_awaited(const Instance& instance, Visit visit) {
  if (instance.is_waiting || instance.left == 0) return;
  const std::vector<Batch>& batches = instance.program->batches;
  for (std::size_t i = 0; i < batches.size(); ++i)
    for (std::uint32_t k = 0; k < batches[i].messages; ++k) {
      const std::uint32_t message = batches[i].first_message + k;
      const bool is_posted = instance.program->needs[i] == 0 || instance.missing[i] == 0;
      if (is_posted && !instance.pending[message].is_done && visit(message)) return;
    }
}

Execution::Awaited Execution::awaited() const noexcept {
  Awaited found;
  // A missing receive accuses its sender; a missing send only its receiver's pace.
  for (const bool is_send : {false, true})
    for (const Instance& instance : instances_)
      for_each_awaited(instance, [&](std::uint32_t message) {
        const Transfer& transfer = instance.transfers[message];
        if (found.rank >= 0 || (transfer.kind == Transfer::Kind::send) != is_send) return false;
        found = {transfer.peer, is_send};
        return true;
      });
  return found;
}

CallWait Execution::wait(Duration now) const noexcept {
  return {.name = binding_->name,
          .number = plan_ != 0 ? kPlanCalls + plan_ : (is_ordered() ? turn_.sequence + 1 : 0),
          .tag = user_tag_,
          .rank = awaited().rank,
          .time = since_ < Duration::zero() ? Duration::zero() : now - since_};
}

std::string Execution::state() const {
  if (!binding_->is_collective) return words_of(*binding_, user_tag_);
  if (is_held_)
    return std::string{binding_->name} + " (" + binding_->algorithm +
           "), which waits for older calls to end";
  std::string text = std::string{binding_->name} +
                     (plan_ != 0 ? " of " + words_of_number(kPlanCalls + plan_)
                                 : " #" + std::to_string(turn_.sequence + 1)) +
                     " (" + binding_->algorithm + ")";
  for (const Instance& instance : instances_) {
    std::uint32_t message = kNoMessage;
    for_each_awaited(instance, [&](std::uint32_t first) {
      message = first;
      return true;
    });
    if (message == kNoMessage) continue;
    const Program& program = *instance.program;
    const std::uint32_t round = program.operations[program.messages[message]].round;
    text += ", round " + std::to_string(round + 1) + " of " + std::to_string(program.rounds);
    if (binding_->segments > 1)
      text += " of segment " + std::to_string(instance.segment + 1) + " of " +
              std::to_string(binding_->segments);
    break;
  }
  return text;
}

}  // namespace tutti::v0::detail
