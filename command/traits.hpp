/// @file
/// The catalog's facts in words.
#pragma once

#include <string>
#include <vector>

#include <tutti/spi/algorithm.hpp>

namespace tutti::command {

/// The properties that mean something for this collective.
/// @param collective the operation. @param traits facts. @return such as "ordered (root 0)".
[[nodiscard]] std::vector<std::string> words_of(Collective collective, const Traits& traits);

/// @param row an algorithm. @return its properties as claimed.
[[nodiscard]] inline std::vector<std::string> words_of(const Algorithm& row) {
  return words_of(row.collective, row.traits);
}

}  // namespace tutti::command
