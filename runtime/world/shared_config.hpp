/// @file
/// The configuration that rank 0 reads and sends to all ranks, since choices depend on it: its
/// tuning file, its timed calls, and a described network.
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

/// The files that rank 0 reads.
struct SharedConfigFiles {
  TuningFile tuning{};
  TimedCallsFile timed{};
  std::string network{};                         ///< The argument of find_network; empty: none.
  std::function<void(std::string_view)> warn{};  ///< As InitOptions::warn.
};

/// @return the contents of the files, as bytes. Throws Error{invalid_argument} that starts with the
/// path of a file that cannot be read or is malformed.
[[nodiscard]] std::string pack_shared_config(const SharedConfigFiles& files);

/// The configuration from rank 0.
struct ReceivedConfig {
  std::shared_ptr<const detail::SharedConfig> shared_config{};  ///< Not null.
  bool may_time_calls = false;  ///< Whether calls are to be timed, if there are no times yet.
  std::string timed_path{};     ///< Rank 0's file of timed calls.
};

/// @param bytes of pack_shared_config. @param hosts of the world: the number, as
/// CommunicatorParts::hosts, and the name of each. Throws Error{invalid_argument} if hosts are not
/// in the network, or are too many for it.
[[nodiscard]] ReceivedConfig unpack_shared_config(
    std::string_view bytes, const std::vector<std::pair<int, std::string>>& hosts);

/// @param origin of the timed calls, for a person. @param text of store_timed_calls; empty if there
/// are none. @param refusal why there are none. @return the same configuration with the timed
/// calls.
[[nodiscard]] std::shared_ptr<const detail::SharedConfig> with_timed_calls(
    const detail::SharedConfig& shared_config, std::string_view origin, std::string_view text,
    std::string_view refusal);

}  // namespace tutti::runtime
