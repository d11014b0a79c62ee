#include "channel_rules.hpp"

#include <utility>

#include "runtime/sockets/missing_ranks.hpp"

namespace tutti::runtime {

Error absence(const Channel& channel, std::chrono::steady_clock::time_point start,
              const std::vector<Rank>& missing, std::vector<std::string> hosts) {
  hosts.resize(static_cast<std::size_t>(channel.size()));
  return missing_ranks({.self = channel.rank(),
                        .waited = std::chrono::steady_clock::now() - start,
                        .missing = missing,
                        .hosts = std::move(hosts),
                        .where = channel.describe()});
}

void check_text(std::string_view own) {
  constexpr std::size_t kLongest = 64U << 10U;
  if (own.size() > kLongest)
    throw Error{ErrorCode::invalid_argument, "a text of " + std::to_string(own.size()) +
                                                 " bytes does not fit: a channel carries " +
                                                 std::to_string(kLongest)};
}

void check_rank(Rank rank, int size) {
  expects(size >= 1 && rank >= 0 && rank < size, "a channel for a rank that is not in its world");
}

}  // namespace tutti::runtime
