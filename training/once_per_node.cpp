// Calls a function once on each host.
#include <tutti/attempt.hpp>
#include <tutti/call_name.hpp>
#include <tutti/training/once_per_node.hpp>

#include "base/all_or_none.hpp"
#include "hosts.hpp"

namespace tutti::v0 {
namespace {

void call_once(Communicator& world, std::string_view key, const std::function<void()>& function,
               const Options& options) {
  const std::vector<std::string> keys = detail::gather_texts(world, key, options.timeout);
  for (std::size_t rank = 1; rank < keys.size(); ++rank)
    if (keys[rank] != keys[0])
      throw Error{ErrorCode::invalid_argument, "once_per_node: rank " + std::to_string(rank) +
                                                   " has the key '" + keys[rank] +
                                                   "', rank 0 has '" + keys[0] + "'"};
  const bool is_first = detail::first_rank_of_host(world, options.timeout) == world.rank();
  detail::all_or_none(detail::exchange_over(world, options.timeout), [&] {
    if (!is_first) return;
    const Result<void> outcome = detail::attempt([&] { call_within(world, function); });
    if (!outcome)
      throw Error{ErrorCode::aborted,
                  "once_per_node '" + std::string{key} + "': the function failed on rank " +
                      std::to_string(world.rank()) + ": " + outcome.error().what(),
                  world.rank()};
  });
}

}  // namespace

void once_per_node(Communicator& world, std::string_view key, const std::function<void()>& function,
                   const Options& options) {
  const CallName name{"once_per_node"};
  run_as_one(world, [&] { call_once(world, key, function, options); });
}

}  // namespace tutti::v0
