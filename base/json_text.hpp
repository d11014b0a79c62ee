/// @file
/// JSON with limits on depth and size. The functions are compiled once, for nlohmann::json and
/// nlohmann::ordered_json: the parser and the writer take seconds to compile.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <tutti/version.hpp>

namespace tutti::v0::detail {

/// The deepest nesting of arrays and objects. Files of tutti need eight.
inline constexpr std::size_t kMostJsonDepth = 64;
/// The most values. Each takes up to a hundred bytes of memory.
inline constexpr std::size_t kMostJsonValues = std::size_t{1} << 24U;

/// The error of a call that needs JSON, in a build without it.
inline constexpr const char* kNoJson =
    "tutti was built without nlohmann-json (nlohmann-json3-dev), which reads and writes JSON";

/// Parses a text. Throws Error{invalid_argument} if limits are exceeded, and without the parser's
/// own text: "it is not JSON: syntax error in line 2, column 13".
template <class Json>
[[nodiscard]] Json parse_json(std::string_view text, bool has_comments = false);

/// @param indent of nested values; -1: all on one line. @return the text, in which U+FFFD replaces
/// wrong UTF-8.
template <class Json>
[[nodiscard]] std::string text_of_json(const Json& json, int indent = -1);

}  // namespace tutti::v0::detail
