// How much memory ranks try to share where addresses are few.
#include "runtime/sockets/address_space.hpp"

#include <cstdint>
#include <fstream>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace tutti::runtime {
namespace {

constexpr std::size_t kGiga = std::size_t{1} << 30;

/// @return mappable_bytes, in MiB, in a child with this many addresses beyond those it uses.
std::size_t mebibytes_within(std::size_t addresses, std::size_t wanted, int ranks) {
  int channel[2];
  if (pipe(channel) != 0) return 0;
  const pid_t child = fork();
  if (child == 0) {
    std::size_t pages = 0;
    std::ifstream{"/proc/self/statm"} >> pages;
    const rlim_t limit = pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) + addresses;
    const rlimit both{limit, limit};
    std::size_t answer = 0;
    if (setrlimit(RLIMIT_AS, &both) == 0) answer = mappable_bytes(wanted, ranks) >> 20;
    _exit(write(channel[1], &answer, sizeof answer) == sizeof answer ? 0 : 1);
  }
  std::size_t answer = 0;
  EXPECT_EQ(read(channel[0], &answer, sizeof answer), ssize_t{sizeof answer});
  waitpid(child, nullptr, 0);
  close(channel[0]);
  close(channel[1]);
  return answer;
}

TEST(AddressSpace, IsSharedByTheRanksOfAHost) {
  EXPECT_EQ(mappable_bytes(256 * kGiga, 4), 256 * kGiga);
  EXPECT_EQ(mebibytes_within(90 * kGiga, 256 * kGiga, 1), 32 * 1024U);
  EXPECT_EQ(mebibytes_within(90 * kGiga, 256 * kGiga, 2), 16 * 1024U);
  EXPECT_EQ(mebibytes_within(90 * kGiga, 256 * kGiga, 8), 4 * 1024U);
  EXPECT_EQ(mebibytes_within(kGiga, 256 * kGiga, 100), 64U);  // the least there is use for
  EXPECT_EQ(mebibytes_within(90 * kGiga, kGiga / 4, 4), 256U);
}

// All addresses of a processor would not do for the ranks of a large machine.
TEST(AddressSpace, IsFinite) {
  EXPECT_LT(mappable_bytes(256 * kGiga, 4096), 256 * kGiga);
}

}  // namespace
}  // namespace tutti::runtime
