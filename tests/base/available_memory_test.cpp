// The memory that a host and its control groups have left, as faked files say.
#include "base/available_memory.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include <tutti/spi/memory.hpp>

namespace tutti::v0::detail {
namespace {

class AvailableMemory : public testing::Test {
 protected:
  AvailableMemory() { std::filesystem::remove_all(root_); }
  ~AvailableMemory() override { std::filesystem::remove_all(root_); }
  void write(const char* file, const std::string& text) const {
    const std::filesystem::path path = root_ / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream{path} << text;
  }
  void write_available(std::size_t bytes) const {
    write("proc/meminfo", "MemAvailable: " + std::to_string(bytes >> 10) + " kB\n");
  }

  std::filesystem::path root_ =
      std::filesystem::path{testing::TempDir()} / ("available" + std::to_string(getpid()));
};

constexpr std::size_t kMebibyte = std::size_t{1} << 20;

TEST_F(AvailableMemory, IsWhatTheMachineAndItsControlGroupsHaveLeft) {
  EXPECT_GT(available_memory(root_), std::size_t{1} << 60) << "nothing is known";
  write("proc/meminfo", "MemTotal: 9000 kB\nMemAvailable:   8000 kB\n");
  EXPECT_EQ(available_memory(root_), std::size_t{8000} << 10);
  write("proc/self/cgroup", "0::/job/step\n");
  write("sys/fs/cgroup/job/step/memory.max", "max\n");
  EXPECT_EQ(available_memory(root_), std::size_t{8000} << 10);
  write("sys/fs/cgroup/job/memory.max", "5000\n");
  write("sys/fs/cgroup/job/memory.current", "4000\n");
  write("sys/fs/cgroup/job/memory.stat", "anon 1\nactive_file 300\ninactive_file 200\n");
  EXPECT_EQ(available_memory(root_), 1500U) << "files that are held in memory are given up";
  write("sys/fs/cgroup/job/memory.current", "6000\n");
  write("sys/fs/cgroup/job/memory.stat", "anon 1\n");
  EXPECT_EQ(available_memory(root_), 0U);
  write("proc/self/cgroup", "4:memory:/old\n2:cpuacct:/\n");
  write("sys/fs/cgroup/memory/old/memory.limit_in_bytes", "7000\n");
  write("sys/fs/cgroup/memory/old/memory.usage_in_bytes", "6000\n");
  write("sys/fs/cgroup/memory/old/memory.stat", "total_active_file 10\ntotal_inactive_file 5\n");
  EXPECT_EQ(available_memory(root_), 1015U);
}

TEST_F(AvailableMemory, IsTakenInPiecesWithALookBeforeEach) {
  write_available(2000 * kMebibyte);
  std::size_t end = 0;
  take_memory(
      1000 * kMebibyte,
      [&](std::size_t offset, std::size_t bytes) {
        EXPECT_EQ(offset, end);
        EXPECT_LE(bytes, 16 * kMebibyte);
        end += bytes;
      },
      root_);
  EXPECT_EQ(end, 1000 * kMebibyte);
}

TEST_F(AvailableMemory, IsNotTakenWhereThereIsTooLittle) {
  write_available(1000 * kMebibyte);
  const auto take = [](std::size_t, std::size_t) { ADD_FAILURE() << "it is taken"; };
  EXPECT_THROW(take_memory(1000 * kMebibyte, take, root_), std::bad_alloc) << "others need some";
  try {
    take_memory(3000 * kMebibyte, take, root_);
    ADD_FAILURE();
  } catch (const MemoryShortage& shortage) {
    const std::string text = shortage.what();
    EXPECT_NE(text.find(std::to_string(3000 * kMebibyte)), std::string::npos) << text;
    EXPECT_NE(text.find(std::to_string(1000 * kMebibyte)), std::string::npos) << text;
  }
}

TEST_F(AvailableMemory, IsNotTakenByRanksThatTogetherWantMore) {
  for (const std::size_t ranks : {2, 4, 64}) {
    std::size_t available = 1000 * kMebibyte;
    write_available(available);
    const auto take_on_all = [&](std::size_t, std::size_t bytes) {
      ASSERT_LT(ranks * bytes, available) << "a process would be ended";
      available -= ranks * bytes;
      write_available(available);
    };
    EXPECT_THROW(take_memory(700 * kMebibyte, take_on_all, root_), MemoryShortage);
  }
}

}  // namespace
}  // namespace tutti::v0::detail
