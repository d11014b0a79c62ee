/// @file
/// What all channels say alike: who is missing, and what may be said.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <tutti/error.hpp>

namespace tutti::runtime {

/// @param where the channel's description. @param missing the ranks that did not come, at least
/// one. @param size of the world. @return Error{timeout} with the first of them as the culprit.
[[nodiscard]] Error missing_error(const std::string& where, const std::vector<Rank>& missing,
                                  int size);

/// Throws Error{invalid_argument} where a channel does not carry the text. @param own what a rank
/// wants to say.
void check_text(std::string_view own);

/// Throws Error{bug} unless there is such a rank. @param rank the own one. @param size of the
/// world.
void check_place(Rank rank, int size);

}  // namespace tutti::runtime
