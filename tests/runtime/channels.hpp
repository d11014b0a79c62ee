/// @file
/// Channels whose ranks are threads, and the folders in which some of them meet.
#pragma once

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/meeting/folder_note.hpp"
#include "tests/support/patience.hpp"
#include "tests/support/temporary_folder.hpp"

namespace tutti::runtime {

namespace fs = std::filesystem;
using test::kAmple;
using test::kLongBefore;

inline Deadline in(std::chrono::milliseconds time) {
  return std::chrono::steady_clock::now() + time;
}

using Channels = std::vector<std::unique_ptr<Channel>>;

/// @return the channel of a rank whose world meets in a folder.
inline std::unique_ptr<Channel> channel_in_folder(const std::string& path, Rank rank, int size,
                                                  Deadline deadline = in(kAmple)) {
  StoreOptions options{.rank = rank, .size = size, .folder = path};
  meet_in_folder(options, deadline);
  return open_store(std::move(options), deadline);
}

inline Channels folder_channels(const std::string& path, int size) {
  Channels channels;
  for (Rank rank = 0; rank < size; ++rank) channels.push_back(channel_in_folder(path, rank, size));
  return channels;
}

/// Runs the ranks of these channels as threads, and returns what each threw.
inline std::vector<std::optional<Error>> run(Channels& channels,
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

inline void expect_none(const std::vector<std::optional<Error>>& errors) {
  for (const auto& error : errors) EXPECT_FALSE(error) << error->what();
}

}  // namespace tutti::runtime
