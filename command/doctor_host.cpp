// Checks of a host: shared memory, limits, and the access between processes.
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include <tutti/error.hpp>
#include <tutti/spi/cores.hpp>

#include "backends/shm/directory.hpp"
#include "base/available_memory.hpp"
#include "command/doctor_check.hpp"
#include "command/features.hpp"
#include "runtime/sockets/address_space.hpp"
#include "runtime/sockets/descriptors.hpp"

namespace tutti::command::doctor {

namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

std::string in_words(std::uint64_t bytes) {
  return bytes >= 1024 * kMiB ? fmt::format("{:.1f} GiB", static_cast<double>(bytes >> 20) / 1024)
                              : fmt::format("{} MiB", bytes >> 20);
}

// Nothing without a limit.
std::optional<std::uint64_t> limit_of(__rlimit_resource resource) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return {};
  return limit.rlim_cur;
}

std::string first_line(const std::filesystem::path& path) {
  std::ifstream file{path};
  std::string line;
  std::getline(file, line);
  return line;
}

Check check_shared_memory() {
  const Feature feature = shared_memory();
  if (feature.available) return {.name = "shared memory", .found = feature.remark};
  return check_of_error(
      "shared memory", Verdict::fault, feature.remark,
      limit_of(RLIMIT_AS) ? "raise the limit of the address space: ulimit -v unlimited" : "");
}

// Every rank maps the shared memory of all ranks of its host.
Check check_address_space(const Subject& subject) {
  constexpr std::uint64_t kLeast = 64 * kMiB;  // mappable_bytes offers no less
  const std::uint64_t bytes = runtime::mappable_bytes(shm::kSegmentBytes, subject.ranks_here);
  const std::optional<std::uint64_t> limit = limit_of(RLIMIT_AS);
  const std::string found =
      fmt::format("{}; each of {} ranks of a host can share {}",
                  limit ? "a process may map " + in_words(*limit) : "no limit", subject.ranks_here,
                  in_words(bytes));
  if (!limit && bytes > kLeast) return {.name = "address space", .found = found};
  return {.name = "address space",
          .verdict = bytes > kLeast ? Verdict::warning : Verdict::fault,
          .found = found,
          .cure =
              "raise the limit: ulimit -v unlimited (batch systems: the memory limit per "
              "process)"};
}

// tutti's memory has no name in a file system, but others' lies in /dev/shm.
Check check_dev_shm() {
  constexpr std::uint64_t kEnough = 256 * kMiB;
  struct statvfs status {};
  if (statvfs("/dev/shm", &status) != 0)
    return {.name = "/dev/shm",
            .verdict = Verdict::warning,
            .found = "missing: tutti does not use it, but MPIs and PyTorch do",
            .cure = "mount it: mount -t tmpfs tmpfs /dev/shm"};
  const std::uint64_t size = std::uint64_t{status.f_blocks} * status.f_frsize;
  const std::uint64_t free = std::uint64_t{status.f_bavail} * status.f_frsize;
  const std::string found = fmt::format("{}, of which {} are free", in_words(size), in_words(free));
  if (free >= kEnough) return {.name = "/dev/shm", .found = found};
  return {.name = "/dev/shm",
          .verdict = Verdict::warning,
          .found = found +
                   ": enough for tutti, which does not use it, but little for MPIs, NCCL "
                   "and PyTorch",
          .cure =
              "enlarge it: mount -o remount,size=50% /dev/shm, or docker run --shm-size=8g, "
              "and remove old files there"};
}

Check check_memory() {
  constexpr std::uint64_t kLittle = 512 * kMiB;
  const std::uint64_t bytes = detail::available_memory();
  const std::string pages = first_line("/sys/kernel/mm/transparent_hugepage/shmem_enabled");
  const std::size_t begin = pages.find('['), end = pages.find(']');
  std::string found = in_words(bytes) + " are available";
  if (begin < end && end != std::string::npos)
    found +=
        fmt::format(", huge pages in shared memory: {}", pages.substr(begin + 1, end - begin - 1));
  if (bytes >= kLittle) return {.name = "memory", .found = found};
  return {.name = "memory",
          .verdict = Verdict::warning,
          .found = found,
          .cure = "end other programs, or raise the memory limit of the container or job"};
}

std::vector<Check> check_locked_memory() {
  constexpr std::uint64_t kLittle = 1024 * kMiB;
  std::error_code none;
  const std::filesystem::directory_iterator adapters{"/sys/class/infiniband", none};
  if (none || adapters == end(adapters)) return {};
  const std::optional<std::uint64_t> limit = limit_of(RLIMIT_MEMLOCK);
  if (!limit) return {{.name = "locked memory", .found = "no limit, for the InfiniBand adapter"}};
  return {{.name = "locked memory",
           .verdict = *limit < kLittle ? Verdict::warning : Verdict::ok,
           .found = fmt::format("{} per process: MPIs and NCCL lock memory for the InfiniBand "
                                "adapter",
                                in_words(*limit)),
           .cure = *limit < kLittle ? "raise the limit: ulimit -l unlimited, or a line `* - "
                                      "memlock unlimited` in /etc/security/limits.conf"
                                    : ""}};
}

// A child reads its parent: the system treats them as any two ranks. A parent may read its child
// even if ranks may not read each other. @return errno.
int error_of_reading_parent() {
  static const long number = 0x7475747469;
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) return errno;
  if (child == 0) {
    long copy = 0;
    const iovec to{&copy, sizeof copy};
    const iovec from{const_cast<long*>(&number), sizeof number};
    const bool is_read = process_vm_readv(parent, &to, 1, &from, 1, 0) == sizeof copy;
    _exit(is_read ? 0 : errno);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  return WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
}

Check check_process_access() {
  const int error = error_of_reading_parent();
  if (error == 0)
    return {.name = "process access", .found = "ranks of this host may read each other's memory"};
  const std::string scope = first_line("/proc/sys/kernel/yama/ptrace_scope");
  const bool is_yama = !scope.empty() && scope != "0";
  return {.name = "process access",
          .verdict = Verdict::warning,
          .found = fmt::format("ranks of this host may not read each other's memory "
                               "(process_vm_readv: {}{}): tutti, MPIs and UCX then copy long "
                               "messages twice, and some MPIs fail",
                               std::strerror(error),
                               is_yama ? ", kernel.yama.ptrace_scope is " + scope : ""),
          .cure = is_yama ? "allow it: sysctl -w kernel.yama.ptrace_scope=0"
                          : "allow it: docker run --cap-add=SYS_PTRACE"};
}

}  // namespace

Check check_descriptors(int ranks) {
  const runtime::DescriptorNeed need = runtime::descriptor_need(ranks);
  const std::string found =
      fmt::format("{} per process (hard limit); {} ranks need {} each, and {} while they start",
                  need.most == RLIM_INFINITY ? "no limit" : std::to_string(need.most), ranks,
                  need.least, need.wanted);
  if (need.most >= need.wanted) return {.name = "descriptors", .found = found};
  return {.name = "descriptors",
          .verdict = need.most < need.least ? Verdict::fault : Verdict::warning,
          .found = found,
          .cure = fmt::format("raise the limit: ulimit -n {}, or a line `* - nofile 65536` in "
                              "/etc/security/limits.conf",
                              std::max<std::uint64_t>(need.wanted, 1024))};
}

std::vector<Check> checks_of_host(const Subject& subject) {
  std::vector<Check> checks{
      check_shared_memory(), check_address_space(subject),     check_dev_shm(),
      check_memory(),        check_descriptors(subject.ranks), check_process_access()};
  for (Check& check : check_locked_memory()) checks.push_back(std::move(check));
  return checks;
}

}  // namespace tutti::command::doctor
