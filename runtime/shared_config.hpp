/// @file
/// What rank 0 tells all others that choices rest on: its tuning file, and the network that
/// somebody described.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "selector/shared_config.hpp"
#include "timed_calls_file.hpp"
#include "tuning_file.hpp"

namespace tutti::runtime {

/// What rank 0 is to look for.
struct SharedConfigFiles {
  TuningFile tuning{};                           ///< See there.
  TimedCallsFile timed{};                        ///< See there.
  std::string network{};                         ///< As find_network takes it; empty: nobody says.
  std::function<void(std::string_view)> warn{};  ///< As InitOptions::warn.
};

/// @param files to look for. @return what they say, as bytes. Throws Error{invalid_argument} that
/// begins with the path of what cannot be read or is malformed.
[[nodiscard]] std::string pack_shared_config(const SharedConfigFiles& files);

/// The answer of rank 0.
struct ReceivedConfig {
  std::shared_ptr<const detail::SharedConfig> shared_config{};  ///< Not null.
  bool may_time_calls = false;  ///< Whether calls are to be timed, if they were not before.
  std::string timed_path{};     ///< Where rank 0 keeps them.
};

/// @param bytes of pack_shared_config. @param hosts of the world: number, as
/// CommunicatorParts::hosts, and name of each. @return what they say. Throws
/// Error{invalid_argument} where hosts are not in the network, or are too many for it.
[[nodiscard]] ReceivedConfig unpack_shared_config(
    std::string_view bytes, const std::vector<std::pair<int, std::string>>& hosts);

/// @param background of a world. @param origin of a text of timed calls, for a person. @param text
/// of keep_timed_calls; empty if there are none. @param refusal why there are none. @return the
/// same with the calls.
[[nodiscard]] std::shared_ptr<const detail::SharedConfig> with_timed_calls(
    const detail::SharedConfig& shared_config, std::string_view origin, std::string_view text,
    std::string_view refusal);

}  // namespace tutti::runtime
