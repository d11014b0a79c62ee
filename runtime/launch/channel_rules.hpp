/// @file
/// Checks and errors that all channels share.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include <tutti/spi/channel.hpp>

namespace tutti::runtime {

/// @param start of the wait. @param missing may be empty, which means unknown. @param hosts of the
/// ranks, as far as known; may be empty. @return the error of missing_ranks.
[[nodiscard]] Error absence(const Channel& channel, std::chrono::steady_clock::time_point start,
                            const std::vector<Rank>& missing, std::vector<std::string> hosts = {});

/// Throws Error{invalid_argument} if the text is longer than a channel carries.
void check_text(std::string_view own);

/// Throws Error{bug} unless the rank exists. @param size of the world.
void check_rank(Rank rank, int size);

}  // namespace tutti::runtime
