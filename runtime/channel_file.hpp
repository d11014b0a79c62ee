/// @file
/// A Channel through a folder that all ranks see: file:///path.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <tutti/spi/channel.hpp>

namespace tutti::runtime {

/// Where a rank stands, and with whom.
struct FilePlace {
  Rank rank = 0;      ///< The own rank.
  int size = 1;       ///< The number of ranks.
  std::string job{};  ///< The launcher's name of the job, or empty. Ranks of others are not heard.
  std::vector<std::string> hosts{};  ///< Of all ranks, as far as a launcher tells; or empty.
};

/// A world in a folder. The folder is made, with mode 0700, or must be so already, and is removed
/// at the end. What an earlier run left in it is never taken for this one's: every rank puts a
/// random name of its own into the folder and goes on only with a world that lists it. One world at
/// a time can use a folder.
///
/// While ranks wait for each other, those who do not belong get an Error{mismatch} at once: a rank
/// that counts other ranks than rank 0 does, which rank 0 mentions if it misses somebody; and, of
/// two processes that come as one rank, both. That takes a file system with locks (flock). Where
/// there are none the first waits until its deadline, and only the first of the two is told.
/// @param path absolute. @param place of the own rank. @return the channel; ranks are waited for in
/// its first exchange. Throws Error{transport} where the folder cannot be used.
[[nodiscard]] std::unique_ptr<Channel> file_channel(const std::string& path,
                                                    const FilePlace& place);

/// For launchers: tells ranks that wait in a folder that another one has ended; none that waits
/// nowhere, and none where file systems know no locks. @param path of the folder. @param place its
/// size and job. @param error for those that wait. Throws Error{transport} as file_channel.
void send_end_notice(const std::string& path, const FilePlace& place, const Error& error);

/// @param url such as "file:///tmp/job". @return its path. Throws Error{invalid_argument}.
[[nodiscard]] std::string path_of_url(const std::string& url);

}  // namespace tutti::runtime
