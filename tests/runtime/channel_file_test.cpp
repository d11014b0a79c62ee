// Worlds that meet in a folder: what is left of earlier ones, who does not belong, who is missing.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <latch>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/folder.hpp"
#include "tests/runtime/channels.hpp"

namespace tutti::runtime {
namespace {

using namespace std::chrono_literals;

TEST(ChannelFile, AFolderIsMadeAgainAsOftenAsItIsRemoved) {
  const Scratch scratch;
  const std::string path = scratch.world();
  std::atomic<bool> over{false};
  std::thread remover{[&] {
    while (!over) rmdir(path.c_str());
  }};
  int failures = 0;
  for (int i = 0; i < 20'000; ++i) {
    try {
      const Folder folder{path};
    } catch (const Error& error) {
      if (++failures == 1) ADD_FAILURE() << error.what();
    }
  }
  over = true;
  remover.join();
  EXPECT_EQ(failures, 0);
}

TEST(ChannelFile, AWorldFollowsAnotherAThousandTimes) {
  const Scratch scratch;
  std::vector<std::optional<Error>> errors(2);
  std::vector<std::thread> threads;
  for (Rank self = 0; self < 2; ++self)
    threads.emplace_back([&, self] {
      try {
        for (int world = 0; world < 1000; ++world) {
          const auto channel = file_channel(scratch.world(), {self, 2, "job"});
          const std::string own = std::to_string(self) + "." + std::to_string(world);
          const auto heard = channel->all_gather(own, in(kAmple));
          const std::string other = std::to_string(1 - self) + "." + std::to_string(world);
          EXPECT_EQ(heard[static_cast<std::size_t>(1 - self)], other);
        }
      } catch (const Error& error) {
        errors[static_cast<std::size_t>(self)] = error;
      }
    });
  for (std::thread& thread : threads) thread.join();
  expect_none(errors);
  EXPECT_FALSE(fs::exists(scratch.world()));
}

// Copies the notes of a world in which a rank died, at each moment of its life.
void leave_remains(const std::string& path, int rounds) {
  const std::string copy = path + ".copy";
  {
    Channels file = file_channels(path, 3);
    if (rounds == 0)
      run(file, [](Channel& channel) {
        if (channel.rank() > 0) static_cast<void>(channel.all_gather("old", in(100ms)));
        else std::this_thread::sleep_for(50ms);
      });
    else
      expect_none(run(file, [rounds](Channel& channel) {
        for (int round = 0; round < rounds; ++round)
          static_cast<void>(channel.all_gather("old", in(kAmple)));
      }));
    fs::copy(path, copy, fs::copy_options::recursive);
  }
  if (rounds == 0)  // hellos of a run that never came together
    for (const char* name : {"/hello.1", "/hello.2"})
      std::ofstream{copy + name} << "tutti-file-2\njob\n3\n0123\nhost\n";
  fs::remove_all(path);
  fs::rename(copy, path);
  fs::permissions(path, fs::perms::owner_all);
  for (const auto& entry : fs::directory_iterator{path})
    fs::permissions(entry.path(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST(ChannelFile, WhatAnEarlierRunLeftIsNotHeard) {
  for (const int rounds : {0, 1, 2}) {
    const Scratch scratch;
    leave_remains(scratch.world(), rounds);
    ASSERT_FALSE(fs::is_empty(scratch.world()));
    Channels file = file_channels(scratch.world(), 3);
    expect_none(run(file, [](Channel& channel) {
      // Rank 0 is early, so it meets the remains of the others.
      std::this_thread::sleep_for(20ms * channel.rank());
      for (int round = 0; round < 3; ++round)
        for (const std::string& text : channel.all_gather("new", in(kAmple)))
          EXPECT_EQ(text, "new");
    }));
    file.clear();
    EXPECT_FALSE(fs::exists(scratch.world())) << rounds;
  }
}

TEST(ChannelFile, RemainsAreNoRanks) {
  const Scratch scratch;
  leave_remains(scratch.world(), 0);
  Channels file = file_channels(scratch.world(), 3);
  const auto errors = run(file, [](Channel& channel) {
    if (channel.rank() == 0) static_cast<void>(channel.all_gather("", in(100ms)));
  });
  ASSERT_TRUE(errors[0]);
  const std::string message = errors[0]->what();
  EXPECT_NE(message.find("rank 0 waited 0.1 s for ranks 1 and 2 of 3 over file://"),
            std::string::npos)
      << message;
  EXPECT_NE(message.find("is of another run"), std::string::npos) << message;
}

bool says(const std::optional<Error>& error, const std::string& text) {
  return error && std::string{error->what()}.find(text) != std::string::npos;
}

// A rank that does not agree with rank 0, whichever comes first, is told at once and named later.
TEST(ChannelFile, ARankOfAnotherWorldIsToldSo) {
  for (const FilePlace& odd :
       {FilePlace{1, 3, "job"}, FilePlace{5, 6, "job"}, FilePlace{1, 2, "x"}}) {
    const Scratch scratch;
    Channels file;
    file.push_back(file_channel(scratch.world(), {0, 2, "job"}));
    file.push_back(file_channel(scratch.world(), odd));
    const auto errors = run(file, [&](Channel& channel) {
      const bool is_first = channel.rank() == 0;
      if (is_first) std::this_thread::sleep_for(odd.size == 3 ? 20ms : 0ms);
      static_cast<void>(channel.all_gather("", in(is_first ? std::chrono::seconds{1} : kAmple)));
    });
    ASSERT_TRUE(errors[0] && errors[1]);
    EXPECT_EQ(errors[1]->code(), ErrorCode::mismatch) << errors[1]->what();
    const std::string claim =
        odd.size != 2 ? "counts " + std::to_string(odd.size) + " ranks" : "belongs to job 'x'";
    EXPECT_TRUE(
        says(errors[1], "rank " + std::to_string(odd.rank) + " " + claim + ", but rank 0 (host "))
        << errors[1]->what();
    EXPECT_TRUE(says(errors[1], odd.size != 2 ? " counts 2 ranks" : "belongs to job 'job'"));
    EXPECT_EQ(errors[0]->code(), odd.size != 2 ? ErrorCode::mismatch : ErrorCode::timeout);
    EXPECT_EQ(errors[0]->culprit(), odd.rank);
    EXPECT_TRUE(says(errors[0], odd.size != 2 ? claim : "; turned away: rank 1 (host "))
        << errors[0]->what();
    EXPECT_TRUE(says(errors[0], odd.size != 2 ? "counts 2: wrong world size" : ", which " + claim))
        << errors[0]->what();
    file.clear();
    EXPECT_FALSE(fs::exists(scratch.world()));
  }
}

// Where one counts other ranks, all that are there know within a second, but a rank that a stray
// one came for may still come.
TEST(ChannelFile, AllAreToldOfARankThatCountsOthers) {
  for (const Rank odd : {0, 1, 2}) {
    const Scratch scratch;
    Channels file;
    for (Rank rank = 0; rank < 3; ++rank)
      file.push_back(file_channel(scratch.world(), {rank, rank == odd ? 4 : 3, "job"}));
    const auto start = std::chrono::steady_clock::now();
    const auto errors =
        run(file, [](Channel& channel) { (void)channel.all_gather("", in(kAmple)); });
    EXPECT_LT(std::chrono::steady_clock::now() - start, kLongBefore);
    for (const auto& error : errors) {
      ASSERT_TRUE(error);
      EXPECT_EQ(error->code(), ErrorCode::mismatch) << error->what();
    }
    const std::string words =
        odd == 0 ? "ranks 1 and 2 count 3 ranks, but rank 0 (host "
                 : "rank " + std::to_string(odd) + " counts 4 ranks, but rank 0 (host ";
    for (Rank rank = 0; rank < (odd == 0 ? 1 : 3); ++rank) {
      if (rank == odd && odd != 0) continue;
      const auto& error = errors[static_cast<std::size_t>(rank)];
      EXPECT_TRUE(says(error, words)) << error->what();
      EXPECT_EQ(error->culprit(), odd);
    }
    file.clear();
    EXPECT_FALSE(fs::exists(scratch.world()));
  }
}

TEST(ChannelFile, ARankMayComeAfterAStrayOneOfItsNumber) {
  const Scratch scratch;
  Channels file = file_channels(scratch.world(), 2);
  expect_none(run(file, [&](Channel& channel) {
    if (channel.rank() == 1) {
      std::this_thread::sleep_for(20ms);
      EXPECT_THROW((void)file_channel(scratch.world(), {1, 3, "job"})->all_gather("", in(kAmple)),
                   Error);
    }
    static_cast<void>(channel.all_gather("", in(kAmple)));
  }));
}

TEST(ChannelFile, ARankMayComeAfterAStrayOneThoughOneOfAnotherJobCameLongBefore) {
  const Scratch scratch;
  Channels file = file_channels(scratch.world(), 3);
  std::latch strays{1};
  const auto stray = [&](const FilePlace& place) {
    EXPECT_THROW((void)file_channel(scratch.world(), place)->all_gather("", in(kAmple)), Error);
  };
  expect_none(run(file, [&](Channel& channel) {
    if (channel.rank() == 1) {
      std::this_thread::sleep_for(20ms);
      stray({1, 3, "another job"});
      std::this_thread::sleep_for(700ms);
      stray({2, 4, "job"});
      std::this_thread::sleep_for(100ms);
      strays.count_down();
    }
    if (channel.rank() == 2) strays.wait();
    static_cast<void>(channel.all_gather("", in(kAmple)));
  }));
}

TEST(ChannelFile, ARankWaitsThoughAnEarlierOneCountedOthers) {
  const Scratch scratch;
  fs::create_directory(scratch.world());
  fs::permissions(scratch.world(), fs::perms::owner_all);
  std::ofstream{scratch.world() + "/hello.0"} << "tutti-file-2\njob\n3\n0123\nhost\n";
  fs::permissions(scratch.world() + "/hello.0", fs::perms::owner_read | fs::perms::owner_write);
  Channels file = file_channels(scratch.world(), 2);
  expect_none(run(file, [](Channel& channel) {
    if (channel.rank() == 0) std::this_thread::sleep_for(100ms);
    static_cast<void>(channel.all_gather("", in(kAmple)));
  }));
}

TEST(ChannelFile, BothProcessesOfOneRankAreTold) {
  for (int trial = 0; trial < 50; ++trial) {
    const Scratch scratch;
    Channels file;
    for (int process = 0; process < 2; ++process)
      file.push_back(file_channel(scratch.world(), {trial % 2, 2, "job"}));
    const auto errors = run(file, [&](Channel& channel) {
      if (&channel == file[1].get()) std::this_thread::sleep_for(trial % 5 * 1ms);
      static_cast<void>(channel.all_gather("", in(kAmple)));
    });
    for (const auto& error : errors) {
      ASSERT_TRUE(error);
      EXPECT_EQ(error->code(), ErrorCode::mismatch) << trial << ": " << error->what();
      EXPECT_EQ(error->culprit(), trial % 2);
      EXPECT_TRUE(says(error, "two processes came as rank " + std::to_string(trial % 2)));
      EXPECT_FALSE(says(error, "unknown")) << error->what();
    }
    file.clear();
    EXPECT_FALSE(fs::exists(scratch.world()));
  }
}

TEST(ChannelFile, TheHostOfAMissingRankIsNamedWhereTheLauncherTells) {
  const Scratch scratch;
  const auto channel = file_channel(scratch.world(), {0, 3, "job", {"a", "b", "c"}});
  try {
    static_cast<void>(channel->all_gather("", in(50ms)));
    FAIL();
  } catch (const Error& error) {
    EXPECT_TRUE(says(error, "for ranks 1 (host b) and 2 (host c) of 3 over file://"))
        << error.what();
  }
}

TEST(ChannelFile, AFolderOpenToOthersIsRefused) {
  const Scratch scratch;
  fs::create_directory(scratch.world());
  for (const mode_t mode : {0770U, 0707U, 0710U, 0701U}) {
    ASSERT_EQ(chmod(scratch.world().c_str(), mode), 0);
    EXPECT_THROW(static_cast<void>(file_channel(scratch.world(), {0, 1, ""})), Error) << mode;
  }
  ASSERT_EQ(chmod(scratch.world().c_str(), 0700), 0);
  EXPECT_NO_THROW(static_cast<void>(file_channel(scratch.world(), {0, 1, ""})));
  fs::create_directory_symlink("/tmp", scratch.world() + ".link");
  EXPECT_THROW(static_cast<void>(file_channel(scratch.world() + ".link", {0, 1, ""})), Error);
  std::ofstream{scratch.world() + ".file"} << "x";
  EXPECT_THROW(static_cast<void>(file_channel(scratch.world() + ".file", {0, 1, ""})), Error);
  EXPECT_THROW(static_cast<void>(file_channel("/nowhere/at/all", {0, 1, ""})), Error);
}

TEST(ChannelFile, ANoteThatCannotBeWrittenIsAnError) {
  const Scratch scratch;
  Folder folder{scratch.world()};
  try {
    static_cast<void>(folder.write(std::string(300, 'x'), "a name that is too long"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_TRUE(says(error, "cannot write in the folder")) << error.what();
  }
}

TEST(ChannelFile, NotesAreForTheirOwnerOnly) {
  const Scratch scratch;
  const mode_t before = umask(0);
  Channels file = file_channels(scratch.world(), 2);
  expect_none(run(
      file, [](Channel& channel) { static_cast<void>(channel.all_gather("secret", in(kAmple))); }));
  umask(before);
  EXPECT_EQ(fs::status(scratch.world()).permissions(), fs::perms::owner_all);
  for (const auto& entry : fs::directory_iterator{scratch.world()})
    EXPECT_EQ(entry.status().permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST(ChannelFile, UrlsNamePaths) {
  EXPECT_EQ(path_of_url("file:///tmp/a b"), "/tmp/a b");
  for (const char* url : {"file://", "file:///", "file://host/path", "file:/x", "tcp://a:1", ""})
    EXPECT_THROW(static_cast<void>(path_of_url(url)), Error) << url;
}

}  // namespace
}  // namespace tutti::runtime
