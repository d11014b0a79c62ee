#include "hosts.hpp"

#include <unistd.h>

#include <array>
#include <fstream>

namespace tutti::inline v0::detail {
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

}  // namespace

std::vector<Rank> first_ranks_of_hosts(Communicator& world, const Options& options) {
  const std::string own = identity_of_host();
  const Gathered<char> hosts =
      world.all_gatherv(own, with_counts, Options{.timeout = options.timeout});
  std::vector<Rank> first;
  for (Rank rank = 0; rank < world.size(); ++rank) first.push_back(first_alike(hosts, rank));
  return first;
}

}  // namespace tutti::inline v0::detail
