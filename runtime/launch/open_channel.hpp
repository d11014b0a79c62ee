/// @file
/// Opens the channel by which the ranks of a launch first exchange data.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <tutti/spi/channel.hpp>

#include "runtime/meeting/store.hpp"
#include "runtime/security/secret.hpp"

#include "launch.hpp"

namespace tutti::runtime {

/// The options of a channel over a network.
struct Protection {
  std::string interface {};        ///< As StoreOptions::interface.
  std::optional<Secret> secret{};  ///< As StoreOptions::secret.
  bool insecure = false;           ///< As StoreOptions::insecure.
};

/// @param protection gets the secret of a job that meets in a folder. @param deadline of looking up
/// hosts, and for rank 0's note in a folder. @return the channel of all ranks. Throws Error.
[[nodiscard]] std::unique_ptr<Channel> open_channel(const Launch& launch, Protection& protection,
                                                    Deadline deadline);

/// @param launch with Exchange::url. @return the options of its store; for a folder without those
/// that meet_in_folder adds. Throws Error{invalid_argument} that quotes the URL.
[[nodiscard]] StoreOptions store_options(const Launch& launch, const Protection& protection);

/// @return the TCP address at which the ranks of a launch meet, if they do.
[[nodiscard]] std::optional<HostAndPort> meeting_address(const Launch& launch);

}  // namespace tutti::runtime
