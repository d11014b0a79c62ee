/// @file
/// What a picture of a collective shows, before it has coordinates: messages and local work, each
/// at the step of the data flow at which it happens.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "print.hpp"

namespace tutti::v0 {

/// A message.
struct Arrow {
  Rank from = 0;         ///< Its sender.
  Rank to = 0;           ///< Its receiver.
  int start = 0;         ///< Step before which it leaves.
  int end = 1;           ///< Step after which it has arrived.
  bool reduces = false;  ///< Whether the receiver reduces it.
  bool wraps = false;    ///< Whether it takes the way around, past the last rank.
  std::string label{};   ///< Its units; empty if every message is the whole vector.
};

/// Work that a rank does by itself.
struct Mark {
  /// What it is.
  enum class Kind { combine, local_reduce, copy, finish };
  Kind kind = Kind::copy;  ///< What it is; combine is the reduction of what arrived.
  Rank rank = 0;           ///< Whose.
  int step = 0;            ///< After which step.
};

/// All there is to draw.
struct Picture {
  int ranks = 0;                ///< Columns.
  int steps = 0;                ///< Rows: the longest chain of rounds.
  std::vector<Arrow> arrows{};  ///< Messages.
  std::vector<Mark> marks{};    ///< Local work.
  std::string title{};          ///< Which algorithm.
  std::string subtitle{};       ///< Its rounds, messages and volume.
};

/// @param printed what to draw. @return the picture. Throws Error{invalid_argument} where a receive
/// is never met by a send.
[[nodiscard]] Picture picture_of(const Printed& printed);

/// How many ranks a message passes, in the direction it is drawn: negative to the left.
/// @param arrow the message. @param ranks how many there are. @return the distance.
[[nodiscard]] int distance_of(const Arrow& arrow, int ranks) noexcept;

}  // namespace tutti::v0
