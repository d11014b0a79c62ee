/// @file
/// What ranks tell each other: errors that one of them meets and all throw, texts, and their hosts.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tutti/communicator.hpp>

namespace tutti::v0::detail {

/// Ends a part of a call in which ranks may have met Errors, each by itself. Collective.
/// @param world its ranks. @param own how it went on this rank. @param timeout as of Options.
/// Throws the Error of the lowest rank that has one, on all ranks.
void agree(Communicator& world, const Result<void>& own, Duration timeout);

/// To be called where an exception is handled. @return what it says.
[[nodiscard]] std::string text_of_caught();

/// Collective. @param world its ranks. @param own of this one. @param timeout as of Options.
/// @return the texts of all ranks.
[[nodiscard]] std::vector<std::string> texts_of(Communicator& world, std::string_view own,
                                                Duration timeout);

/// A line in which texts differ.
struct OtherLine {
  std::size_t number = 0;
  std::string left{};   ///< It, or `end` where there are no more lines.
  std::string right{};  ///< So of the other text.
};

/// @param left a text. @param right another one. @param end as of OtherLine. @param from the line
/// to begin with. @return the first line in which they differ, if there is one.
[[nodiscard]] std::optional<OtherLine> first_other_line(const std::string& left,
                                                        const std::string& right,
                                                        const std::string& end,
                                                        std::size_t from = 0);

/// Collective. Ranks are on one host where name and boot of the system are equal. @param world its
/// ranks. @param timeout as of Options. @return the lowest rank that is on the host of the own one.
/// Throws Error.
Rank first_rank_of_host(Communicator& world, Duration timeout);

}  // namespace tutti::v0::detail
