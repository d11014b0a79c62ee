// Worlds of one process share what connects it to the others.
#include <gtest/gtest.h>

#include <dirent.h>
#include <malloc.h>

#include <cstdint>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <tutti/mpi.hpp>

#include "tests/support/patience.hpp"

namespace tutti::test {

namespace {

using namespace std::chrono_literals;

std::size_t entries_of(const char* folder) {
  std::size_t entries = 0;
  if (DIR* const open = opendir(folder)) {
    while (readdir(open) != nullptr) ++entries;
    closedir(open);
  }
  return entries;
}
std::size_t descriptors() {
  return entries_of("/proc/self/fd");
}
std::size_t threads() {
  return entries_of("/proc/self/task");
}

/// A number of a file of /proc/self, in bytes.
std::size_t number_of(const std::string& file, const std::string& name) {
  std::ifstream lines{"/proc/self/" + file};
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(name + ":")) return std::stoull(line.substr(name.size() + 1)) * 1024;
  return 0;
}

/// @return the memory of a process, with its part of shared memory.
std::size_t held() {
  malloc_trim(0);
  return number_of("smaps_rollup", "Pss_Anon") + number_of("smaps_rollup", "Pss_Shmem");
}

void check_sum(Communicator& world) {
  std::vector<int> values(3, world.rank() + 1);
  world.all_reduce(values);
  ASSERT_EQ(values, std::vector<int>(3, world.size() * (world.size() + 1) / 2));
}

int rank_in_world() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}
int size_of_world() {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

TEST(MpiWorlds, ThousandsLiveAtATime) {
  std::vector<Communicator> worlds;
  worlds.push_back(mpi::init(MPI_COMM_WORLD));
  check_sum(worlds.back());
  const std::size_t descriptors_of_one = descriptors();
  const std::size_t threads_of_one = threads();
  const std::size_t addresses_of_one = number_of("status", "VmSize");
  const std::size_t held_of_one = held();
  const std::size_t kMany = size_of_world() <= 2 ? 10'000 : 1000;  // others share cores
  while (worlds.size() < kMany) worlds.push_back(mpi::init(MPI_COMM_WORLD));
  for (std::size_t i = 0; i < kMany; i += 97) ASSERT_NO_FATAL_FAILURE(check_sum(worlds[i]));
  EXPECT_EQ(descriptors(), descriptors_of_one);
  EXPECT_EQ(threads(), threads_of_one);
  EXPECT_LT(number_of("status", "VmSize"), addresses_of_one + (std::size_t{4} << 30));
  EXPECT_LT(held(), held_of_one + kMany * (64 << 10));
  RecordProperty("held_per_world", std::to_string((held() - held_of_one) / kMany));
}

TEST(MpiWorlds, GiveBackWhatTheyHeld) {
  Communicator world = mpi::init(MPI_COMM_WORLD);
  std::size_t before = 0;
  for (int round = 0; round < 3; ++round) {
    std::vector<Communicator> groups;
    for (int i = 0; i < 100; ++i) {
      groups.push_back(world.split(0));
      std::vector<char> large(100'000);
      groups.back().all_reduce(large, max);
    }
    groups.clear();
    world.barrier();                                 // all have destroyed theirs,
    for (int i = 0; i < 2000; ++i) world.barrier();  // and polls see that
    if (round == 0) before = held();
  }
  EXPECT_LT(held(), before + (8 << 20));
}

TEST(MpiWorlds, ASplitHoldsLittleUntilMessagesAreLarge) {
  Communicator world = mpi::init(MPI_COMM_WORLD);
  constexpr std::size_t kMany = 200;
  std::vector<Communicator> groups;
  groups.reserve(kMany);
  check_sum(world);
  const std::size_t before = held();
  for (std::size_t i = 0; i < kMany; ++i) {
    groups.push_back(world.split(0));
    ASSERT_NO_FATAL_FAILURE(check_sum(groups.back()));
  }
  EXPECT_LE(held(), before + kMany * (std::size_t{64} << 10));
}

TEST(MpiWorlds, AreOfAnyRanksInAnyOrder) {
  const int rank = rank_in_world();
  const int size = size_of_world();
  std::vector<Communicator> worlds;
  for (const int width : {1, 2, 3, size}) {  // the world of all comes last
    MPI_Comm some = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, rank / width, -rank, &some);
    worlds.push_back(mpi::init(some));
    worlds.push_back(mpi::init(some));
    int own = 0;
    MPI_Comm_rank(some, &own);
    EXPECT_EQ(worlds.back().rank(), own);
    MPI_Comm_free(&some);
  }
  for (Communicator& world : worlds) ASSERT_NO_FATAL_FAILURE(check_sum(world));
  for (std::size_t i = worlds.size(); i > 0; --i) ASSERT_NO_FATAL_FAILURE(check_sum(worlds[i - 1]));
}

TEST(MpiWorlds, DifferInTheirSettings) {
  Communicator shm = mpi::init(MPI_COMM_WORLD);
  Communicator tcp = mpi::init(MPI_COMM_WORLD, {.transport = "tcp"});
  Communicator again = mpi::init(MPI_COMM_WORLD, {.transport = "tcp"});
  for (Communicator* world : {&tcp, &shm, &again}) ASSERT_NO_FATAL_FAILURE(check_sum(*world));
  if (shm.size() == 1) return;
  EXPECT_NE(shm.describe().find("shared memory"), std::string::npos) << shm.describe();
  EXPECT_NE(again.describe().find("over TCP"), std::string::npos) << again.describe();
  try {
    InitOptions options;
    options.payload_checksum = shm.rank() == 0;
    (void)mpi::init(MPI_COMM_WORLD, options);
    ADD_FAILURE() << "ranks do not agree";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::mismatch) << error.what();
  }
  ASSERT_NO_FATAL_FAILURE(check_sum(shm));
}

TEST(MpiWorlds, AreMadeByThreadsAtATime) {
  int provided = MPI_THREAD_SINGLE;
  MPI_Query_thread(&provided);
  ASSERT_EQ(provided, MPI_THREAD_MULTIPLE);
  constexpr int kThreads = 3;
  std::vector<MPI_Comm> comms(kThreads);
  for (MPI_Comm& comm : comms) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  std::vector<std::thread> all;
  for (MPI_Comm& comm : comms)
    all.emplace_back([&comm] {
      for (int i = 0; i < 20; ++i) {
        Communicator world = mpi::init(comm, {.heartbeat_timeout = kAmple});
        check_sum(world);
      }
    });
  for (std::thread& thread : all) thread.join();
  for (MPI_Comm& comm : comms) MPI_Comm_free(&comm);
}

}  // namespace
}  // namespace tutti::test
