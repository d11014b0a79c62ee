// The processors that a process may use: its affinity, and the quotas of control groups.
#include <tutti/spi/cores.hpp>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

namespace tutti::v0 {
namespace {

using std::filesystem::path;

/// A folder with files like those of the system.
class System {
 public:
  System() : root_{path{::testing::TempDir()} / ("tutti-cores-" + std::to_string(::getpid()))} {}
  System(const System&) = delete;
  System& operator=(const System&) = delete;
  ~System() { std::filesystem::remove_all(root_); }
  void write(const path& file, const std::string& text) const {
    std::filesystem::create_directories((root_ / file).parent_path());
    std::ofstream{root_ / file} << text << "\n";
  }
  [[nodiscard]] std::uint64_t quota() const { return usable_cores(root_).quota; }
  [[nodiscard]] std::uint64_t group() const { return usable_cores(root_).group; }

 private:
  path root_;
};

TEST(Cores, AreThoseOfTheAffinity) {
  const Cores cores = usable_cores();
  EXPECT_NE(cores.usable, decltype(cores.usable){});
  EXPECT_EQ(usable_cores("/nowhere/at/all").quota, 0U);
  EXPECT_EQ(usable_cores("/nowhere/at/all").usable, cores.usable);
}

TEST(Cores, AreLimitedByTheQuotaOfAControlGroup) {
  const System system;
  system.write("proc/self/cgroup", "0::/");
  system.write("sys/fs/cgroup/cpu.max", "max 100000");
  EXPECT_EQ(system.quota(), 0U);
  system.write("sys/fs/cgroup/cpu.max", "100000 100000");
  EXPECT_EQ(system.quota(), 1U);
  EXPECT_NE(system.group(), 0U);
  system.write("sys/fs/cgroup/cpu.max", "150000 100000");
  EXPECT_EQ(system.quota(), 2U);
}

TEST(Cores, AreLimitedByTheGroupsAround) {
  const System system;
  system.write("proc/self/cgroup", "0::/user.slice/job/step");
  system.write("sys/fs/cgroup/user.slice/cpu.max", "200000 100000");
  EXPECT_EQ(system.quota(), 2U);
  const std::uint64_t around = system.group();
  system.write("sys/fs/cgroup/user.slice/job/step/cpu.max", "400000 100000");
  EXPECT_EQ(system.quota(), 2U);
  EXPECT_EQ(system.group(), around);
  system.write("sys/fs/cgroup/user.slice/job/step/cpu.max", "50000 100000");
  EXPECT_EQ(system.quota(), 1U);
  EXPECT_NE(system.group(), around);
}

TEST(Cores, AreLimitedByControlGroupsOfTheOlderKind) {
  const System system;
  system.write("proc/self/cgroup", "4:memory:/a\n3:cpu,cpuacct:/docker/0123\n2:cpuset:/\n0::/");
  system.write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1");
  system.write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000");
  EXPECT_EQ(system.quota(), 0U);
  system.write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "250000");
  EXPECT_EQ(system.quota(), 3U);
}

TEST(Cores, AreOutnumberedByRanks) {
  Cores one;
  one.usable[0] = 1;
  Cores other;
  other.usable[1] = 1;
  EXPECT_EQ(shared_cores(std::array{one}, one), 0);
  EXPECT_EQ(shared_cores(std::array{one, other}, one), 0);
  EXPECT_EQ(shared_cores(std::array{one, one, other}, other), 2);
  Cores wide;
  wide.usable.fill(~std::uint64_t{0});
  wide.quota = 2;
  wide.group = 7;
  EXPECT_EQ(shared_cores(std::array{wide, wide}, wide), 0);
  EXPECT_EQ(shared_cores(std::array{wide, wide, wide}, wide), 2);
  Cores elsewhere = wide;
  elsewhere.group = 8;
  EXPECT_EQ(shared_cores(std::array{wide, wide, elsewhere}, wide), 0);
  Cores free = wide;
  free.quota = 0;
  EXPECT_EQ(shared_cores(std::array{wide, wide, free}, free), 0);
  free.group = 7;
  EXPECT_EQ(shared_cores(std::array{wide, wide, free}, wide), 0);
}

}  // namespace
}  // namespace tutti::v0
