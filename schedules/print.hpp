/// @file
/// The interpreter that prints: a schedule as text, as JSON and as a picture.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <tutti/spi/schedule.hpp>

namespace tutti::v0 {

/// Schedules to print.
struct Printed {
  std::string algorithm{};                ///< With its parameters, such as "knomial:k=4".
  Collective collective{};                ///< The collective of the schedules.
  Rank root = 0;                          ///< Printed if the collective is rooted.
  std::span<const Schedule> schedules{};  ///< The schedules of all ranks, in the order of ranks.
  std::optional<Rank> only{};             ///< One rank instead of all; a picture highlights it.
};

/// @param noun in the singular. @return such as "1 rank" or "2 ranks".
[[nodiscard]] std::string counted(std::uint64_t number, std::string_view noun);

/// @return the text with the characters & < > " as entities of XML.
[[nodiscard]] std::string escaped_for_xml(std::string_view text);

/// @return such as "out[3]" or "scratch[0..7]".
[[nodiscard]] std::string text_of(const Slots& slots);

/// @return one line per step, ending with a newline.
[[nodiscard]] std::string to_text(const Printed& printed);

/// @return one JSON object: algorithm, collective, size, root, units, planes, ranks; a rank has
/// rounds, a round has steps.
[[nodiscard]] std::string to_json(const Printed& printed);

/// Draws ranks from left to right and time downwards; a message is an arrow, labelled with its
/// units.
/// @return a standalone SVG document. Throws Error{invalid_argument} if a receive has no send.
[[nodiscard]] std::string to_svg(const Printed& printed);

}  // namespace tutti::v0
