/// @file
/// From how a process was launched to the means by which its ranks first speak.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <tutti/spi/channel.hpp>

#include "launch.hpp"
#include "secret.hpp"
#include "store.hpp"

namespace tutti::runtime {

/// What a channel over a network needs beside the launch.
struct Protection {
  std::string interface {};        ///< As StoreOptions::interface.
  std::optional<Secret> secret{};  ///< As StoreOptions::secret.
  bool insecure = false;           ///< As StoreOptions::insecure.
};

/// @param launch whose exchange serves. @param protection see Protection; gets the secret of a job
/// that meets in a folder. @param deadline for looking up hosts, and for rank 0's note in a folder.
/// @return the channel of all ranks. Throws Error.
[[nodiscard]] std::unique_ptr<Channel> open_channel(const Launch& launch, Protection& protection,
                                                    Deadline deadline);

/// @param launch whose exchange is by a URL. @param protection see Protection. @return how its rank
/// comes to the store; in a folder without what meet_in_folder adds. Throws Error{invalid_argument}
/// that quotes the URL.
[[nodiscard]] StoreOptions store_options(const Launch& launch, const Protection& protection);

/// @param launch any. @return the TCP address at which its ranks meet, if they do.
[[nodiscard]] std::optional<HostAndPort> meeting_address(const Launch& launch);

}  // namespace tutti::runtime
