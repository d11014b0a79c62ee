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
  std::string_view parameters{};             ///< The text after the colon.
};

/// @return the pieces of a choice as text. Throws Error{invalid_argument} if brackets do not match.
[[nodiscard]] Expression take_apart(std::string_view text);

/// Reads a number. Throws Error{invalid_argument} if there is none. @param whole the text around
/// it, for the error. @param least 0 or 1.
[[nodiscard]] int number_in(std::string_view text, std::string_view whole, int least = 1);

/// Reads numbers with `+` between them, as number_in.
[[nodiscard]] std::vector<int> numbers_in(std::string_view text, std::string_view whole,
                                          int least = 1);

/// @param numbers at least one. @return the text that numbers_in reads.
[[nodiscard]] std::string joined(const std::vector<int>& numbers);

/// Reads the operands and parameters of a hierarchical algorithm. @param collective of the whole.
/// @param whole the text, for errors.
[[nodiscard]] Hierarchy parse_hierarchy(const Catalog& catalog, Collective collective,
                                        const Expression& expression, std::string_view whole);

/// @return the parameters of a hierarchy, as written after the colon.
[[nodiscard]] std::string parameters_of(const Hierarchy& hierarchy);

}  // namespace tutti::v0
