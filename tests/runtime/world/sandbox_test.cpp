// A world without shared memory, as under the seccomp profile of a container.
#include <cerrno>
#include <cstddef>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <tutti/spi/init.hpp>

#include "tests/runtime/worlds.hpp"

namespace tutti::test {
namespace {

/// Forbids memfd_create to this thread and those that it starts. @return whether it is forbidden.
bool forbid_shared_memory() {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{.len = std::size(filter), .filter = filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

std::vector<Outcome> sums_over(const std::string& transport) {
  const auto channels = local_channels(2, true);
  return run_ranks(2, [&](Rank rank) {
    Communicator world = init(*channels[static_cast<std::size_t>(rank)], {.transport = transport});
    EXPECT_EQ(world.all_reduce(1), 2);
  });
}

TEST(Sandbox, WithoutSharedMemoryIsToldWhatWorks) {
  bool is_forbidden = false;
  std::vector<Outcome> automatic, tcp;
  std::thread{[&] {
    is_forbidden = forbid_shared_memory();
    automatic = sums_over("auto");
    tcp = sums_over("tcp");
  }}.join();
  if (!is_forbidden) GTEST_SKIP() << "this system has no seccomp filters";
  expect_no_error(tcp);
  for (const Outcome& outcome : automatic) {
    ASSERT_TRUE(outcome.error);
    EXPECT_EQ(outcome.error->code(), ErrorCode::transport);
    const std::string words = outcome.text();
    EXPECT_NE(words.find("make shared memory: Operation not permitted"), std::string::npos)
        << words;
    EXPECT_NE(words.find("the transport \"tcp\""), std::string::npos) << words;
  }
}

}  // namespace
}  // namespace tutti::test
