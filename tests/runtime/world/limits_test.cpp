// Limits of files and threads are errors: they neither end a process nor throw anything else.
#include "tests/support/limits.hpp"

#include <barrier>
#include <filesystem>
#include <optional>
#include <string>

#include <tutti/spi/init.hpp>
#include <tutti/testing.hpp>

#include "tests/runtime/worlds.hpp"

namespace tutti::test {
namespace {

void expect_refused(const std::vector<Outcome>& outcomes, const std::string& words) {
  for (const Outcome& outcome : outcomes) {
    ASSERT_TRUE(outcome.error);
    EXPECT_EQ(outcome.error->code(), ErrorCode::transport);
    EXPECT_NE(outcome.text().find(words), std::string::npos) << outcome.text();
  }
}

/// Starts ranks, of which each adds up, on one host. @param begin is called when all have started.
std::vector<Outcome> add_up(
    const InitOptions& options, int ranks, const std::function<void()>& begin = [] {}) {
  const auto channels = local_channels(ranks, true);
  std::barrier all{ranks, [&]() noexcept { begin(); }};
  return run_ranks(ranks, [&](Rank rank) {
    all.arrive_and_wait();
    Communicator world = init(*channels[static_cast<std::size_t>(rank)], options);
    EXPECT_EQ(world.all_reduce(1), ranks);
  });
}

TEST(Limits, OfFilesForbidSharedMemory) {
  const FileLimit limit{std::size_t{1} << 20};
  expect_refused(add_up({.transport = "auto"}, 2), "`ulimit -f` allows files of 1048576 bytes");
  expect_no_error(add_up({.transport = "tcp"}, 2));
}

TEST(Limits, OfFilesForbidToMeetInAFolder) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("tutti-limits-" + std::to_string(getpid()));
  std::vector<Outcome> outcomes;
  {
    const FileLimit limit{4};
    outcomes = run_ranks(1, [&](Rank rank) {
      static_cast<void>(init({.url = "file://" + folder.string(), .rank = rank, .size = 2}));
    });
  }
  std::filesystem::remove_all(folder);
  expect_refused(outcomes, "`ulimit -f` allows files of 4 bytes");
}

TEST(Limits, OfThreadsAreToldToAWorld) {
  std::optional<ThreadLimit> limit;
  const auto begin = [&] { limit.emplace(); };
  expect_refused(add_up({}, 2, begin), "cannot start a thread: ");
  limit.reset();
  expect_refused(add_up({.communicator = {.progress_thread = true}}, 1, begin), "`ulimit -u`");
  limit.reset();
  expect_no_error(add_up({.communicator = {.progress_thread = true}}, 2));
}

TEST(Limits, OfThreadsAreToldToASimulation) {
  const ThreadLimit limit;
  try {
    static_cast<void>(sim::run_ranks({.size = 2}, [](Communicator&) {}));
    ADD_FAILURE() << "it has threads";
  } catch (const Error& error) {
    EXPECT_NE(std::string{error.what()}.find("cannot start a thread"), std::string::npos);
  }
}

}  // namespace
}  // namespace tutti::test
