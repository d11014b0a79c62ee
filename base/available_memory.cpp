#include "base/available_memory.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <limits>
#include <string>

#include <tutti/spi/memory.hpp>

namespace tutti::v0 {
namespace detail {
namespace {

using std::filesystem::path;

constexpr std::size_t kUnknown = std::numeric_limits<std::size_t>::max();
/// Bytes that are left to others.
constexpr std::size_t kReserve = std::size_t{128} << 20;
/// A piece is this share of the memory that is left: as many processes may take one at the same
/// time.
constexpr std::size_t kShare = 256;
constexpr std::size_t kSmallestPiece = std::size_t{2} << 20;  // a huge page

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

void take_memory(std::size_t bytes,
                 const std::function<void(std::size_t offset, std::size_t bytes)>& take,
                 const path& root) {
  for (std::size_t taken = 0; taken < bytes;) {
    const std::size_t available = available_memory(root);
    const std::size_t left = available - std::min(available, kReserve);
    if (left < bytes - taken) throw MemoryShortage{bytes, available + taken};
    const std::size_t share = left / kShare / kSmallestPiece * kSmallestPiece;
    const std::size_t piece = std::min(bytes - taken, std::max(share, kSmallestPiece));
    take(taken, piece);
    taken += piece;
  }
}

}  // namespace detail

MemoryShortage::MemoryShortage(std::size_t wanted, std::size_t available) noexcept {
  std::snprintf(text_.data(), text_.size(),
                "no memory is left: %zu bytes are wanted, and this host or its control group has "
                "%zu bytes available",
                wanted, available);
}

}  // namespace tutti::v0
