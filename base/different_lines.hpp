/// @file
/// The first line in which two texts differ. All is inline, since libraries of their own use it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <tutti/version.hpp>

namespace tutti::v0::detail {

/// A line in which two texts differ. A side is `end` where its text has no more lines.
struct DifferentLines {
  std::size_t number = 0;  ///< Counted from zero.
  std::string left{};
  std::string right{};
};

[[nodiscard]] inline std::vector<std::string> lines_of_text(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

/// @param end as of DifferentLines. @param from the line to begin with. @return the first line in
/// which the texts differ, if there is one.
[[nodiscard]] inline std::optional<DifferentLines> first_different_lines(const std::string& left,
                                                                         const std::string& right,
                                                                         const std::string& end,
                                                                         std::size_t from = 0) {
  const std::vector<std::string> lefts = lines_of_text(left);
  const std::vector<std::string> rights = lines_of_text(right);
  const auto line_of = [&](const std::vector<std::string>& lines, std::size_t i) {
    return i < lines.size() ? lines[i] : end;
  };
  for (std::size_t i = from; i < std::max(lefts.size(), rights.size()); ++i)
    if (line_of(lefts, i) != line_of(rights, i))
      return DifferentLines{i, line_of(lefts, i), line_of(rights, i)};
  return std::nullopt;
}

}  // namespace tutti::v0::detail
