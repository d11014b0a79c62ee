// Describes the wait of an execution, as text and for other ranks.
#include <string>

#include "collectives/execution/execution.hpp"

#include "point_to_point.hpp"

namespace tutti::v0::detail {

CallWait Execution::wait(Duration now) const noexcept {
  return {.name = binding().name,
          .number = plan_ != 0 ? kPlanCalls + plan_ : (is_ordered() ? position_.sequence + 1 : 0),
          .tag = user_tag_,
          .rank = awaited().rank,
          .time = since_ < Duration::zero() ? Duration::zero() : now - since_};
}

std::string Execution::state() const {
  const Binding& binding = *context_.binding;
  if (!binding.is_collective) return words_of(binding, user_tag_);
  if (is_queued_)
    return std::string{binding.name} + " (" + binding.algorithm +
           "), which waits for older calls to end";
  std::string text = std::string{binding.name} +
                     (plan_ != 0 ? " of " + words_of_number(kPlanCalls + plan_)
                                 : " #" + std::to_string(position_.sequence + 1)) +
                     " (" + binding.algorithm + ")";
  for (const SegmentRun& run : runs_) {
    const std::uint32_t message = run.find_awaited([](std::uint32_t) { return true; });
    if (message == kNoMessage) continue;
    const Program& program = run.program();
    const std::uint32_t round = program.operations[program.messages[message]].round;
    text += ", round " + std::to_string(round + 1) + " of " + std::to_string(program.rounds);
    if (binding.segments > 1)
      text += " of segment " + std::to_string(run.segment() + 1) + " of " +
              std::to_string(binding.segments);
    break;
  }
  return text;
}

}  // namespace tutti::v0::detail
