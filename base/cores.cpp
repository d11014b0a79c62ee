#include <tutti/spi/cores.hpp>

#include <sched.h>
#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <fstream>
#include <string>

namespace tutti::v0 {
namespace {

using std::filesystem::path;

constexpr std::size_t kBits = 64;

void find_affinity(Cores& cores) {
  static_assert(CPU_SETSIZE == kBits * std::tuple_size_v<decltype(cores.usable)>);
  cpu_set_t set;
  CPU_ZERO(&set);
  // It fails on a machine with more cores than the set has room for, which are enough.
  if (::sched_getaffinity(0, sizeof set, &set) != 0) {
    cores.usable.fill(~std::uint64_t{0});
    return;
  }
  for (std::size_t core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &set)) cores.usable[core / kBits] |= std::uint64_t{1} << core % kBits;
}

/// The processor time of a control group, in processors, rounded up; 0: unlimited.
std::uint64_t quota_of(const path& group) {
  std::int64_t quota = 0;  // "max" and -1 mean none
  std::int64_t period = 0;
  if (std::ifstream file{group / "cpu.max"}) {
    file >> quota >> period;
  } else {
    std::ifstream{group / "cpu.cfs_quota_us"} >> quota;
    std::ifstream{group / "cpu.cfs_period_us"} >> period;
  }
  if (quota <= 0 || period <= 0) return 0;
  return static_cast<std::uint64_t>((quota - 1) / period + 1);
}

void apply_quota(const path& group, Cores& cores) {
  const std::uint64_t quota = quota_of(group);
  struct stat status {};
  if (quota == 0 || (cores.quota != 0 && cores.quota <= quota)) return;
  if (::stat(group.c_str(), &status) != 0) return;
  cores.quota = quota;
  cores.group = status.st_ino;
}

// The limit of every enclosing group counts. In a container the group's path may be the host's, of
// which only the lower end is visible: then the root is the group.
void apply_quotas(const path& mount, path group, Cores& cores) {
  for (;; group = group.parent_path()) {
    apply_quota(mount / group.relative_path(), cores);
    if (!group.has_relative_path()) return;
  }
}

bool names_processors(const std::string& controllers) {
  return ("," + controllers + ",").find(",cpu,") != std::string::npos;
}

// Parses lines such as "0::/user.slice" and, of version 1, "3:cpu,cpuacct:/".
void find_quota(const path& root, Cores& cores) {
  const path mounts = root / "sys/fs/cgroup";
  std::ifstream file{root / "proc/self/cgroup"};
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const path group = line.substr(second + 1);
    if (controllers.empty()) apply_quotas(mounts, group, cores);
    if (names_processors(controllers)) apply_quotas(mounts / controllers, group, cores);
    if (names_processors(controllers)) apply_quotas(mounts / "cpu", group, cores);
  }
}

}  // namespace

Cores usable_cores(const path& root) {
  Cores cores;
  find_affinity(cores);
  find_quota(root, cores);
  return cores;
}

int shared_cores(std::span<const Cores> machine, const Cores& own) {
  decltype(own.usable) all{};
  for (const Cores& rank : machine)
    for (std::size_t word = 0; word < all.size(); ++word) all[word] |= rank.usable[word];
  std::size_t cores = 0;
  for (const std::uint64_t word : all) cores += static_cast<std::size_t>(std::popcount(word));
  const auto sharing = std::ranges::count_if(
      machine, [&](const Cores& rank) { return rank.quota != 0 && rank.group == own.group; });
  if (own.quota != 0 && static_cast<std::uint64_t>(sharing) > own.quota)
    return static_cast<int>(std::min<std::uint64_t>(own.quota, cores));
  return machine.size() > cores ? static_cast<int>(cores) : 0;
}

}  // namespace tutti::v0
