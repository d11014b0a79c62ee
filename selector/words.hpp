/// @file
/// Times and costs in words.
#pragma once

#include <string>

#include <tutti/spi/costs.hpp>

namespace tutti::v0::detail {

/// @return a time, such as "0.080 ns".
[[nodiscard]] std::string nanoseconds(Femtoseconds time);
/// @return a time, such as "4.0 us".
[[nodiscard]] std::string microseconds(Femtoseconds time);
/// @return the costs in words, a list that ends with a comma.
[[nodiscard]] std::string words_of(const LinkCosts& costs);

}  // namespace tutti::v0::detail
