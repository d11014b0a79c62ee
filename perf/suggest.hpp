/// @file
/// The nearest word, for typing errors on the command line.
#pragma once

#include <string>
#include <vector>

namespace tutti::perf {

/// @param word as written. @param choices what would be right. @return the choice fewest edits
/// away, or nothing where none is near.
[[nodiscard]] std::string nearest_word(const std::string& word,
                                       const std::vector<std::string>& choices);

}  // namespace tutti::perf
