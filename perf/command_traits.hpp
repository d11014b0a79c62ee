/// @file
/// The catalog's facts in words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <tutti/algorithm.hpp>

namespace tutti::perf {

/// @param sizes any. @return "any", "even" or "power_of_two".
[[nodiscard]] std::string_view name_of(Sizes sizes) noexcept;
/// @param when any. @return the enumerator's name, such as "root_is_zero".
[[nodiscard]] std::string_view name_of(When when) noexcept;
/// @param parameter any. @return "none", "radix" or "skips".
[[nodiscard]] std::string_view name_of(Parameter parameter) noexcept;
using tutti::name_of;

/// The properties that mean something for this collective.
/// @param collective the operation. @param traits facts. @return such as "ordered if root is 0".
[[nodiscard]] std::vector<std::string> words_of(Collective collective, const Traits& traits);

/// @param row an algorithm. @return its properties as claimed.
[[nodiscard]] inline std::vector<std::string> words_of(const Algorithm& row) {
  return words_of(row.collective, row.traits);
}

}  // namespace tutti::perf
