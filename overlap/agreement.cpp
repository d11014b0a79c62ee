#include "agreement.hpp"

#include <algorithm>

namespace tutti::inline v0::detail {
namespace {

/// What ranks have to know of each other's outcomes.
struct OwnOutcome {
  std::uint64_t is_error = 0;
  std::int32_t code = 0;
  std::int32_t culprit = -1;
};

}  // namespace

void agree(Communicator& world, const Result<void>& own, Duration timeout) {
  OwnOutcome outcome;
  std::string text;
  if (!own) {
    outcome = {1, static_cast<std::int32_t>(own.error().code()), own.error().culprit()};
    text = own.error().what();
  }
  const Options options{.timeout = timeout};
  const std::vector<OwnOutcome> all = world.all_gather(outcome, options);
  const auto first = std::ranges::find_if(all, [](const OwnOutcome& o) { return o.is_error != 0; });
  if (first == all.end()) return;
  const auto rank = static_cast<Rank>(first - all.begin());
  std::uint64_t length = world.broadcast(std::uint64_t{text.size()}, rank, options);
  text.resize(length);
  world.broadcast(text, rank, options);
  throw Error{static_cast<ErrorCode>(first->code), text, first->culprit};
}

}  // namespace tutti::inline v0::detail
