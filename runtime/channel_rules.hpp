/// @file
/// What all channels say alike: who is missing, and what may be said.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include <tutti/spi/channel.hpp>

namespace tutti::runtime {

/// @param channel that has waited. @param start since when. @param missing the ranks that did not
/// come; none if nobody can tell. @param hosts of the ranks, as far as they are known; may be
/// empty. @return as missing_ranks.
[[nodiscard]] Error absence(const Channel& channel, std::chrono::steady_clock::time_point start,
                            const std::vector<Rank>& missing, std::vector<std::string> hosts = {});

/// Throws Error{invalid_argument} where a channel does not carry the text. @param own what a rank
/// wants to say.
void check_text(std::string_view own);

/// Throws Error{bug} unless there is such a rank. @param rank the own one. @param size of the
/// world.
void check_place(Rank rank, int size);

}  // namespace tutti::runtime
