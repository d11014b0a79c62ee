// What is done once on each host.
#include <tutti/training.hpp>

#include "agreement.hpp"
#include "hosts.hpp"

namespace tutti::inline v0 {
namespace {

std::string text_of_rank(const Gathered<char>& texts, Rank rank) {
  return {texts[rank].begin(), texts[rank].end()};
}

Result<void> outcome_of(Rank rank, std::string_view key, const std::function<void()>& function) {
  std::string text;
  try {
    function();
    return {};
  } catch (const std::exception& error) {
    text = error.what();
  } catch (...) {
    text = "an exception without a text";
  }
  return Error{ErrorCode::aborted,
               "once_per_node '" + std::string{key} + "': the function failed on rank " +
                   std::to_string(rank) + ": " + text,
               rank};
}

}  // namespace

void once_per_node(Communicator& world, std::string_view key, const std::function<void()>& function,
                   const Options& options) {
  const Options own{.timeout = options.timeout};
  const Gathered<char> keys = world.all_gatherv(key, with_counts, own);
  for (Rank rank = 1; rank < world.size(); ++rank)
    if (detail::first_alike(keys, rank) != 0)
      throw Error{ErrorCode::invalid_argument, "once_per_node: rank " + std::to_string(rank) +
                                                   " has the key '" + text_of_rank(keys, rank) +
                                                   "', rank 0 has '" + text_of_rank(keys, 0) + "'"};
  const auto self = static_cast<std::size_t>(world.rank());
  const bool is_first = detail::first_ranks_of_hosts(world, own)[self] == world.rank();
  detail::agree(world, is_first ? outcome_of(world.rank(), key, function) : Result<void>{},
                options.timeout);
}

}  // namespace tutti::inline v0
