#include "hosts.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>

#include "agreement.hpp"

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

Rank first_rank_of_host(Communicator& world, Duration timeout) {
  const std::vector<std::string> hosts = texts_of(world, identity_of_host(), timeout);
  const std::string& own = hosts[static_cast<std::size_t>(world.rank())];
  return static_cast<Rank>(std::ranges::find(hosts, own) - hosts.begin());
}

}  // namespace tutti::inline v0::detail
