/// @file
/// Names of an algorithm's properties.
#pragma once

#include <string>
#include <vector>

#include <tutti/spi/algorithm.hpp>

namespace tutti::command {

/// @return the properties that have a meaning for this collective, such as "ordered (root 0)".
[[nodiscard]] std::vector<std::string> words_of(Collective collective, const Traits& traits);

/// @return the properties that the row claims.
[[nodiscard]] inline std::vector<std::string> words_of(const Algorithm& row) {
  return words_of(row.collective, row.traits);
}

}  // namespace tutti::command
