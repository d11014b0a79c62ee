#include "available.hpp"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <limits>
#include <string>

namespace tutti::shm {
namespace {

using std::filesystem::path;

constexpr std::size_t kUnknown = std::numeric_limits<std::size_t>::max();

/// The number behind a word, such as "MemAvailable:" or "active_file", or `otherwise`.
std::size_t number_of(const path& file, const std::string& word, std::size_t otherwise) {
  std::ifstream lines{file};
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(word + " ")) continue;
    const std::size_t digits = line.find_first_of("0123456789");
    return digits == std::string::npos ? otherwise : std::stoull(line.substr(digits));
  }
  return otherwise;
}

/// The names that control groups of one version use.
struct Names {
  const char* limit;
  const char* usage;
  const char* prefix;  // of the numbers in memory.stat
};
constexpr Names kFirstVersion{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_"};
constexpr Names kSecondVersion{"memory.max", "memory.current", ""};

/// The bytes that one control group has left. The system drops files in its memory first.
std::size_t left_in(const path& group, const Names& names) {
  std::size_t limit = 0;
  std::size_t usage = 0;
  if (!(std::ifstream{group / names.limit} >> limit)) return kUnknown;  // no group, or "max"
  std::ifstream{group / names.usage} >> usage;
  const path statistics = group / "memory.stat";
  const std::string prefix{names.prefix};
  const std::size_t files = number_of(statistics, prefix + "active_file", 0) +
                            number_of(statistics, prefix + "inactive_file", 0);
  return limit - std::min(limit, usage - std::min(usage, files));
}

/// A limit on any group around the own one counts too.
std::size_t left_in_all(const path& mount, path group, const Names& names) {
  std::size_t least = kUnknown;
  for (;; group = group.parent_path()) {
    least = std::min(least, left_in(mount / group.relative_path(), names));
    if (!group.has_relative_path()) return least;
  }
}

/// Lines such as "0::/user.slice" and, of the first version, "4:memory:/job".
std::size_t left_in_groups(const path& root) {
  const path mount = root / "sys/fs/cgroup";
  std::size_t least = kUnknown;
  std::ifstream groups{root / "proc/self/cgroup"};
  for (std::string line; std::getline(groups, line);) {
    if (line.starts_with("0::"))
      least = std::min(least, left_in_all(mount, line.substr(3), kSecondVersion));
    if (const std::size_t at = line.find(":memory:"); at != std::string::npos)
      least = std::min(least, left_in_all(mount / "memory", line.substr(at + 8), kFirstVersion));
  }
  return least;
}

}  // namespace

std::size_t available_memory(const path& root) {
  const std::size_t kibibytes = number_of(root / "proc/meminfo", "MemAvailable:", kUnknown / 1024);
  return std::min(kibibytes * 1024, left_in_groups(root));
}

}  // namespace tutti::shm
