/// @file
/// The configuration that rank 0 reads and sends to all ranks, since choices depend on it: its
/// tuning file, and a described network.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "selector/shared_config.hpp"

#include "tuning_file.hpp"

namespace tutti::runtime {

/// The files that rank 0 reads.
struct SharedConfigFiles {
  TuningFile tuning{};
  std::string network{};                         ///< The argument of find_network; empty: none.
  std::vector<std::string> unknown{};            ///< Config::unknown.
  std::function<void(std::string_view)> warn{};  ///< As InitOptions::warn.
};

/// @return the contents of the files, as bytes. Throws Error{invalid_argument} that starts with the
/// path of a file that cannot be read or is malformed.
[[nodiscard]] std::string pack_shared_config(const SharedConfigFiles& files);

/// @param bytes of pack_shared_config. @param hosts of the world: the number, as
/// CommunicatorParts::hosts, and the name of each. @return the configuration, not null. Throws
/// Error{invalid_argument} if hosts are not in the network, or are too many for it.
[[nodiscard]] std::shared_ptr<const detail::SharedConfig> unpack_shared_config(
    std::string_view bytes, const std::vector<std::pair<int, std::string>>& hosts);

}  // namespace tutti::runtime
