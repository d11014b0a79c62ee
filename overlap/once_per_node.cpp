// What is done once on each host.
#include <tutti/training.hpp>

#include "agreement.hpp"
#include "hosts.hpp"

namespace tutti::inline v0 {
namespace {

Result<void> outcome_of(Rank rank, std::string_view key, const std::function<void()>& function) {
  try {
    function();
    return {};
  } catch (...) {
    return Error{ErrorCode::aborted,
                 "once_per_node '" + std::string{key} + "': the function failed on rank " +
                     std::to_string(rank) + ": " + detail::text_of_caught(),
                 rank};
  }
}

}  // namespace

void once_per_node(Communicator& world, std::string_view key, const std::function<void()>& function,
                   const Options& options) {
  const std::vector<std::string> keys = detail::texts_of(world, key, options.timeout);
  for (std::size_t rank = 1; rank < keys.size(); ++rank)
    if (keys[rank] != keys[0])
      throw Error{ErrorCode::invalid_argument, "once_per_node: rank " + std::to_string(rank) +
                                                   " has the key '" + keys[rank] +
                                                   "', rank 0 has '" + keys[0] + "'"};
  const bool is_first = detail::first_rank_of_host(world, options.timeout) == world.rank();
  detail::agree(world, is_first ? outcome_of(world.rank(), key, function) : Result<void>{},
                options.timeout);
}

}  // namespace tutti::inline v0
