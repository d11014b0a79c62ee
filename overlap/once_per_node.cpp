// What is done once on each host.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>

#include <tutti/training.hpp>

#include "agreement.hpp"

namespace tutti::inline v0 {
namespace {

/// The name of the host, which containers change, and its boot, which tells hosts of one name
/// apart.
std::string identity_of_host() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) name[0] = '\0';
  std::string boot;
  std::ifstream{"/proc/sys/kernel/random/boot_id"} >> boot;
  return std::string{name.data()} + " " + boot;
}

std::string text_of_rank(const Gathered<char>& texts, Rank rank) {
  return {texts[rank].begin(), texts[rank].end()};
}

/// The lowest rank whose text is equal to that of the given one.
Rank first_alike(const Gathered<char>& texts, Rank of) {
  Rank first = 0;
  while (!std::ranges::equal(texts[first], texts[of])) ++first;
  return first;
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
    if (first_alike(keys, rank) != 0)
      throw Error{ErrorCode::invalid_argument, "once_per_node: rank " + std::to_string(rank) +
                                                   " has the key '" + text_of_rank(keys, rank) +
                                                   "', rank 0 has '" + text_of_rank(keys, 0) + "'"};
  const std::string host = identity_of_host();
  const Gathered<char> hosts = world.all_gatherv(host, with_counts, own);
  const bool is_first = first_alike(hosts, world.rank()) == world.rank();
  detail::agree(world, is_first ? outcome_of(world.rank(), key, function) : Result<void>{},
                options.timeout);
}

}  // namespace tutti::inline v0
