// Ranks that meet in a folder: rank 0's note, what earlier ones left, and who may read it. The note
// leads to the store, which has tests of its own.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "runtime/meeting/folder_note.hpp"
#include "tests/runtime/channels.hpp"
#include "tests/support/errors.hpp"

namespace tutti::runtime {
namespace {

using namespace std::chrono_literals;

using test::error_of;
using test::has;

TEST(Folder, IsMadeAgainAsOftenAsItIsRemoved) {
  const test::TemporaryFolder scratch;
  const std::string path = (scratch / "world").string();
  std::atomic<bool> over{false};
  std::thread remover{[&] {
    while (!over) rmdir(path.c_str());
  }};
  for (int i = 0; i < 20'000; ++i) EXPECT_NO_THROW(const Folder folder{path});
  over = true;
  remover.join();
}

TEST(Folder, IsOfItsOwnerAlone) {
  const test::TemporaryFolder scratch;
  fs::create_directory((scratch / "world").string());
  for (const mode_t mode : {0770U, 0707U, 0710U, 0701U}) {
    ASSERT_EQ(chmod((scratch / "world").string().c_str(), mode), 0);
    EXPECT_THROW(const Folder folder{(scratch / "world").string()}, Error) << mode;
  }
  ASSERT_EQ(chmod((scratch / "world").string().c_str(), 0700), 0);
  EXPECT_NO_THROW(const Folder folder{(scratch / "world").string()});
  fs::create_directory_symlink("/tmp", (scratch / "world").string() + ".link");
  std::ofstream{(scratch / "world").string() + ".file"} << "x";
  for (const std::string& path :
       {(scratch / "world").string() + ".link", (scratch / "world").string() + ".file",
        std::string{"/nowhere/at/all"}})
    EXPECT_THROW(const Folder folder{path}, Error) << path;
  Folder folder{(scratch / "world").string()};
  EXPECT_TRUE(has(
      error_of([&] { (void)folder.create_locked(std::string(300, 'x'), "a long name"); }).what(),
      "cannot write in the folder"));
}

TEST(FolderNotes, AreForTheirOwnerOnly) {
  const test::TemporaryFolder scratch;
  const mode_t before = umask(0);
  const auto channel = channel_in_folder((scratch / "world").string(), 0, 2);
  umask(before);
  EXPECT_EQ(fs::status((scratch / "world").string()).permissions(), fs::perms::owner_all);
  int notes = 0;
  for (const auto& entry : fs::directory_iterator{(scratch / "world").string()}) {
    EXPECT_EQ(entry.status().permissions(), fs::perms::owner_read | fs::perms::owner_write);
    ++notes;
  }
  EXPECT_EQ(notes, 1);
}

TEST(FolderNotes, OfWorldsFollowEachOther) {
  const test::TemporaryFolder scratch;
  std::vector<std::thread> threads;
  for (Rank self = 0; self < 2; ++self)
    threads.emplace_back([&, self] {
      for (int world = 0; world < 300; ++world) {
        const auto channel = channel_in_folder((scratch / "world").string(), self, 2);
        const auto heard =
            channel->all_gather(std::to_string(self) + "." + std::to_string(world), in(kAmple));
        EXPECT_EQ(heard[static_cast<std::size_t>(1 - self)],
                  std::to_string(1 - self) + "." + std::to_string(world));
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(fs::exists((scratch / "world").string()));
}

/// Leaves what a rank 0 that was killed has left.
void leave_remains(const std::string& path) {
  std::string note;
  {
    const auto channel = channel_in_folder(path, 0, 3);
    std::getline(std::ifstream{path + "/rank0"}, note, '\0');
  }
  ASSERT_NE(note, "");
  fs::create_directory(path);
  fs::permissions(path, fs::perms::owner_all);
  for (const char* const name : {"/rank0", "/rank0.0123.draft"}) {
    std::ofstream{path + name} << note;
    fs::permissions(path + name, fs::perms::owner_read | fs::perms::owner_write);
  }
}

TEST(FolderNotes, OfTheDeadAreNotRead) {
  const test::TemporaryFolder scratch;
  leave_remains((scratch / "world").string());
  const Error error =
      error_of([&] { (void)channel_in_folder((scratch / "world").string(), 1, 3, in(100ms)); });
  EXPECT_EQ(error.code(), ErrorCode::timeout);
  EXPECT_EQ(error.culprit(), 0);
  EXPECT_TRUE(has(error.what(), "rank 1 waited 0.1 s for rank 0 of 3 over file://"));
  std::vector<std::thread> threads;
  for (Rank self = 0; self < 3; ++self)
    threads.emplace_back([&, self] {
      std::this_thread::sleep_for(20ms * (2 - self));  // rank 0 is late
      const auto channel = channel_in_folder((scratch / "world").string(), self, 3);
      for (const std::string& text : channel->all_gather("new", in(kAmple))) EXPECT_EQ(text, "new");
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(fs::exists((scratch / "world").string()));
}

// A rank that has read a note connects to the next rank 0 if the first one has ended.
TEST(FolderNotes, AreReadAgainWhereRank0Ended) {
  const test::TemporaryFolder scratch;
  auto first = channel_in_folder((scratch / "world").string(), 0, 2);
  const auto other = channel_in_folder((scratch / "world").string(), 1, 2);
  first.reset();
  std::thread second{[&] {
    std::this_thread::sleep_for(50ms);
    (void)channel_in_folder((scratch / "world").string(), 0, 2)->all_gather("second", in(kAmple));
  }};
  EXPECT_EQ(other->all_gather("", in(kAmple))[0], "second");
  second.join();
}

TEST(FolderNotes, OfTwoRank0AreAnErrorOfTheSecond) {
  const test::TemporaryFolder scratch;
  Channels file = folder_channels((scratch / "world").string(), 2);
  const Error error =
      error_of([&] { (void)channel_in_folder((scratch / "world").string(), 0, 2); });
  EXPECT_EQ(error.code(), ErrorCode::mismatch) << error.what();
  EXPECT_TRUE(has(error.what(), "two processes started as rank 0 of the world at file://"));
  EXPECT_TRUE(has(error.what(), "start each rank once"));
  expect_none(
      run(file, [](Channel& channel) { static_cast<void>(channel.all_gather("", in(kAmple))); }));
}

TEST(FolderNotes, OfAnotherVersionAreAnError) {
  const test::TemporaryFolder scratch;
  Folder folder{(scratch / "world").string()};
  const Descriptor held = folder.create_locked("rank0", "tutti-file-2\n");
  const Error error =
      error_of([&] { (void)channel_in_folder((scratch / "world").string(), 1, 2); });
  EXPECT_EQ(error.code(), ErrorCode::mismatch) << error.what();
  EXPECT_TRUE(has(error.what(), "is of tutti-file-2, and rank 1 reads tutti-file-3"));
}

TEST(FolderUrls, NamePaths) {
  EXPECT_EQ(path_of_url("file:///tmp/a b"), "/tmp/a b");
  for (const char* url : {"file://", "file:///", "file://host/path", "file:/x", "tcp://a:1", ""})
    EXPECT_THROW(static_cast<void>(path_of_url(url)), Error) << url;
}

}  // namespace
}  // namespace tutti::runtime
