// What every Channel must do, in threads of one process: in memory, and through a folder.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/channel_file.hpp"
#include "runtime/channel_local.hpp"
#include "runtime/channel_rules.hpp"
#include "runtime/folder.hpp"
#include "runtime/roll_call.hpp"

namespace tutti::runtime {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

Deadline in(std::chrono::milliseconds time) {
  return std::chrono::steady_clock::now() + time;
}

// A folder of the test's own, with mode 0700, removed at the end.
class Scratch {
 public:
  Scratch() {
    char name[] = "/tmp/tutti-channel-XXXXXX";
    path_ = mkdtemp(name);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { fs::remove_all(path_); }
  std::string world() const { return path_ + "/world"; }

 private:
  std::string path_;
};

using Channels = std::vector<std::unique_ptr<Channel>>;

Channels file_channels(const std::string& path, int size) {
  Channels channels;
  for (Rank rank = 0; rank < size; ++rank)
    channels.push_back(file_channel(path, {rank, size, "job"}));
  return channels;
}

// Runs the ranks of these channels as threads, and returns what each threw.
std::vector<std::optional<Error>> run(Channels& channels,
                                      const std::function<void(Channel&)>& body) {
  std::vector<std::optional<Error>> errors(channels.size());
  std::vector<std::thread> threads;
  for (std::size_t index = 0; index < channels.size(); ++index)
    threads.emplace_back([&, index] {
      try {
        if (channels[index]) body(*channels[index]);
      } catch (const Error& error) {
        errors[index] = error;
      }
    });
  for (std::thread& thread : threads) thread.join();
  return errors;
}

void expect_none(const std::vector<std::optional<Error>>& errors) {
  for (const auto& error : errors) EXPECT_FALSE(error) << error->what();
}

std::string text_of(Rank rank, int round) {
  // Any bytes, any length: also none, zeros and line ends.
  if (round == 1) return "";
  if (round == 2) return std::string(64U << 10U, static_cast<char>(rank));
  return std::string("\0\n \xff=", 5) + std::to_string(rank) + "." + std::to_string(round);
}

void exchange(Channel& channel) {
  for (int round = 0; round < 5; ++round) {
    const auto heard = channel.all_gather(text_of(channel.rank(), round), in(20s));
    ASSERT_EQ(heard.size(), static_cast<std::size_t>(channel.size()));
    for (Rank rank = 0; rank < channel.size(); ++rank)
      EXPECT_EQ(heard[static_cast<std::size_t>(rank)], text_of(rank, round));
  }
  EXPECT_THROW(static_cast<void>(channel.all_gather(std::string((64U << 10U) + 1, 'x'), in(1s))),
               Error);
}

TEST(Channel, EveryRankHearsEveryRank) {
  const Scratch scratch;
  for (const int size : {1, 2, 3, 7}) {
    Channels local = local_channels(size);
    expect_none(run(local, exchange));
    Channels file = file_channels(scratch.world(), size);
    expect_none(run(file, exchange));
    file.clear();
    EXPECT_FALSE(fs::exists(scratch.world())) << size;
  }
}

void expect_roll_call(const std::vector<std::optional<Error>>& errors) {
  for (const std::size_t rank : {0U, 2U}) {
    ASSERT_TRUE(errors[rank]);
    EXPECT_EQ(errors[rank]->code(), ErrorCode::timeout) << errors[rank]->what();
    EXPECT_EQ(errors[rank]->culprit(), 1);
    EXPECT_NE(std::string{errors[rank]->what()}.find("for ranks 1 and 3 of 4 over "),
              std::string::npos)
        << errors[rank]->what();
  }
}

TEST(Channel, TheRollCallNamesTheMissing) {
  const auto late = [](Channel& channel) {
    if (channel.rank() % 2 == 0) static_cast<void>(channel.all_gather("x", in(200ms)));
  };
  const Scratch scratch;
  Channels local = local_channels(4);
  expect_roll_call(run(local, late));
  Channels file = file_channels(scratch.world(), 4);
  expect_roll_call(run(file, late));
  file.clear();
  EXPECT_FALSE(fs::exists(scratch.world()));
  // Not in the first exchange, but in a later one.
  const auto later = [&late](Channel& channel) {
    static_cast<void>(channel.all_gather("x", in(20s)));
    late(channel);
  };
  local = local_channels(4);
  expect_roll_call(run(local, later));
  file = file_channels(scratch.world(), 4);
  expect_roll_call(run(file, later));
  file.clear();
  EXPECT_FALSE(fs::exists(scratch.world()));
}

TEST(Channel, AFailedExchangeStaysFailed) {
  Channels local = local_channels(2);
  EXPECT_THROW(static_cast<void>(local[0]->all_gather("", in(1ms))), Error);
  EXPECT_THROW(static_cast<void>(local[1]->all_gather("", in(1ms))), Error);
}

TEST(ChannelLocal, ARankThatLeftIsNamedAtOnce) {
  Channels local = local_channels(3);
  local[1].reset();
  const auto begin = std::chrono::steady_clock::now();
  const auto errors =
      run(local, [](Channel& channel) { static_cast<void>(channel.all_gather("", in(30s))); });
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
  for (const std::size_t rank : {0U, 2U}) {
    ASSERT_TRUE(errors[rank]);
    EXPECT_EQ(errors[rank]->code(), ErrorCode::peer_dead);
    EXPECT_EQ(errors[rank]->culprit(), 1);
  }
}

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
          const auto heard = channel->all_gather(own, in(20s));
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
          static_cast<void>(channel.all_gather("old", in(20s)));
      }));
    fs::copy(path, copy, fs::copy_options::recursive);
  }
  if (rounds == 0)  // hellos of a run that never came together
    for (const char* name : {"/hello.1", "/hello.2"})
      std::ofstream{copy + name} << "tutti-file-1\njob\n3\n0123\nhost\n";
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
        for (const std::string& text : channel.all_gather("new", in(20s))) EXPECT_EQ(text, "new");
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

TEST(ChannelFile, AnotherNumberOfRanksIsNamed) {
  const Scratch scratch;
  Channels file;
  file.push_back(file_channel(scratch.world(), {0, 2, "job"}));
  file.push_back(file_channel(scratch.world(), {1, 3, "job"}));
  const auto errors =
      run(file, [](Channel& channel) { static_cast<void>(channel.all_gather("", in(200ms))); });
  ASSERT_TRUE(errors[0] && errors[1]);
  EXPECT_NE(std::string{errors[0]->what()}.find("a world of 3"), std::string::npos)
      << errors[0]->what();
  EXPECT_EQ(errors[0]->culprit(), 1);
}

TEST(ChannelFile, TwoProcessesOfOneRankAreNamed) {
  const Scratch scratch;
  Channels file;
  for (int process = 0; process < 2; ++process)
    file.push_back(file_channel(scratch.world(), {1, 2, "job"}));
  const auto errors =
      run(file, [](Channel& channel) { static_cast<void>(channel.all_gather("", in(300ms))); });
  const std::size_t first = errors[0]->code() == ErrorCode::mismatch ? 0 : 1;
  EXPECT_EQ(errors[first]->code(), ErrorCode::mismatch);
  EXPECT_NE(std::string{errors[first]->what()}.find("says that it is rank 1"), std::string::npos);
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

TEST(ChannelFile, NotesAreForTheirOwnerOnly) {
  const Scratch scratch;
  const mode_t before = umask(0);
  Channels file = file_channels(scratch.world(), 2);
  expect_none(run(
      file, [](Channel& channel) { static_cast<void>(channel.all_gather("secret", in(20s))); }));
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

TEST(RollCall, SaysWhoWaitedForWhom) {
  const auto text = [](const RollCall& roll) { return std::string{missing_ranks(roll).what()}; };
  EXPECT_EQ(text({.self = 0, .waited = 30s, .missing = {3}, .hosts = {"a", "a", "b", ""}}),
            "rank 0 waited 30 s for rank 3 of 4; present: 0 (host a), 1 (host a), 2 (host b)");
  EXPECT_EQ(text({.self = 1,
                  .waited = 500ms,
                  .missing = {0, 2, 4},
                  .hosts = std::vector<std::string>(5),
                  .where = "PMIx"}),
            "rank 1 waited 0.5 s for ranks 0, 2 and 4 of 5 over PMIx; present: 1, 3");
  EXPECT_EQ(text({.self = 1, .waited = 1s, .missing = {}, .hosts = {"", ""}, .where = "PMI"}),
            "rank 1 waited 1 s for other ranks of 2 over PMI");
}

}  // namespace
}  // namespace tutti::runtime
