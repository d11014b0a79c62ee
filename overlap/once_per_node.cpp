// What is done once on each host.
#include <tutti/call_name.hpp>
#include <tutti/training.hpp>

#include "agreement.hpp"

namespace tutti::v0 {
namespace {

void call_once(Communicator& world, std::string_view key, const std::function<void()>& function,
               const Options& options) {
  const std::vector<std::string> keys = detail::texts_of(world, key, options.timeout);
  for (std::size_t rank = 1; rank < keys.size(); ++rank)
    if (keys[rank] != keys[0])
      throw Error{ErrorCode::invalid_argument, "once_per_node: rank " + std::to_string(rank) +
                                                   " has the key '" + keys[rank] +
                                                   "', rank 0 has '" + keys[0] + "'"};
  Result<void> outcome;
  if (detail::first_rank_of_host(world, options.timeout) == world.rank()) try {
      call_within(world, function);
    } catch (...) {
      outcome = Error{ErrorCode::aborted,
                      "once_per_node '" + std::string{key} + "': the function failed on rank " +
                          std::to_string(world.rank()) + ": " + detail::text_of_caught(),
                      world.rank()};
    }
  detail::agree(world, outcome, options.timeout);
}

}  // namespace

void once_per_node(Communicator& world, std::string_view key, const std::function<void()>& function,
                   const Options& options) {
  const CallName name{"once_per_node"};
  run_as_one(world, [&] { call_once(world, key, function, options); });
}

}  // namespace tutti::v0
