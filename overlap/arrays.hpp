/// @file
/// Checks of lists of arrays: types, sizes, and that no array overlaps another one.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tutti/gradient_sync.hpp>

namespace tutti::v0::detail {

/// @param array of a list. @param index in that list. @return its name in errors.
[[nodiscard]] std::string name_of_array(const Parameter& array, std::size_t index);

/// Rejects arrays of an unknown or opaque type, arrays without data, and arrays that are larger
/// than the address space, each or all together. @param caller begins the errors. @param has_data
/// whether arrays must have data. Throws Error{invalid_argument}.
TUTTI_API void check_sizes(std::string_view caller, std::span<const Parameter> arrays,
                           bool has_data);

/// Rejects arrays that overlap, except those that are Parameter::tied to the same earlier array.
/// @param caller begins the errors. @param arrays whose sizes are checked. @param with_results
/// whether arrays at Parameter::result are written too. @return by array, its own index, or that of
/// the array to which it is tied. Throws Error{invalid_argument} that names both.
TUTTI_API std::vector<std::size_t> check_apart(std::string_view caller,
                                               std::span<const Parameter> arrays,
                                               bool with_results = false);

/// @param arrays that check_apart has accepted. @return the same indices as check_apart.
[[nodiscard]] std::vector<std::size_t> owners_of(std::span<const Parameter> arrays);

/// @param arrays that check_apart has accepted. @return the arrays that are not tied to others.
[[nodiscard]] TUTTI_API std::vector<Parameter> without_tied(std::span<const Parameter> arrays);

}  // namespace tutti::v0::detail
