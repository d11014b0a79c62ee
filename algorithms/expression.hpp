/// @file
/// The pieces of a choice as text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <tutti/spi/catalog.hpp>

namespace tutti::v0 {

/// `name(operand, operand):parameters` taken apart.
struct Expression {
  std::string_view name{};
  std::vector<std::string_view> operands{};  ///< Without blanks around them.
  bool has_parameters = false;               ///< Whether there is a colon.
  std::string_view parameters{};             ///< What follows it.
};

/// Throws Error{invalid_argument} where brackets do not match. @param text of a choice.
/// @return its pieces.
[[nodiscard]] Expression take_apart(std::string_view text);

/// Throws Error{invalid_argument} where there is none. @param text a number. @param whole what it
/// is in, for the words of the error. @param least 0 or 1. @return it.
[[nodiscard]] int number_in(std::string_view text, std::string_view whole, int least = 1);

/// Likewise for numbers with `+` between them.
[[nodiscard]] std::vector<int> numbers_in(std::string_view text, std::string_view whole,
                                          int least = 1);

/// @param numbers at least one. @return them with `+` between them.
[[nodiscard]] std::string joined(const std::vector<int>& numbers);

/// Reads the operands and parameters of a hierarchical algorithm.
/// @param catalog what may be chosen. @param collective of the whole. @param expression the pieces.
/// @param whole the text.
[[nodiscard]] Hierarchy parse_hierarchy(const Catalog& catalog, Collective collective,
                                        const Expression& expression, std::string_view whole);

/// @param hierarchy any. @return its parameters as written after the colon.
[[nodiscard]] std::string parameters_of(const Hierarchy& hierarchy);

}  // namespace tutti::v0
