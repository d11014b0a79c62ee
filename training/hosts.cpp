#include "hosts.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <string>
#include <vector>

#include "base/all_or_none.hpp"

namespace tutti::v0::detail {
namespace {

/// Containers change the name of the host; the boot id distinguishes hosts of one name.
std::string identity_of_host() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) name[0] = '\0';
  std::string boot;
  std::ifstream{"/proc/sys/kernel/random/boot_id"} >> boot;
  return std::string{name.data()} + " " + boot;
}

}  // namespace

Rank first_rank_of_host(Communicator& world, Duration timeout) {
  const std::vector<std::string> hosts = gather_texts(world, identity_of_host(), timeout);
  const std::string& own = hosts[static_cast<std::size_t>(world.rank())];
  return static_cast<Rank>(std::ranges::find(hosts, own) - hosts.begin());
}

}  // namespace tutti::v0::detail
