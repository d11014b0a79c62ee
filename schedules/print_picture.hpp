/// @file
/// The contents of a picture of a collective, without coordinates: messages and local work, each at
/// its step of the data flow.
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
  bool wraps = false;    ///< Whether it is drawn past the last rank, as on a ring.
  std::string label{};   ///< Its units; empty if every message is the whole vector.
};

/// Work that a rank does by itself.
struct Mark {
  /// The kind of work.
  enum class WorkType { combine, local_reduce, copy, finish };
  WorkType kind = WorkType::copy;  ///< Combine is the reduction of received data.
  Rank rank = 0;                   ///< The rank.
  int step = 0;                    ///< The step before it.
};

/// The contents of a picture.
struct Picture {
  int ranks = 0;                ///< Columns.
  int steps = 0;                ///< Rows: the longest chain of rounds.
  std::vector<Arrow> arrows{};  ///< Messages.
  std::vector<Mark> marks{};    ///< Local work.
  std::string title{};          ///< The algorithm.
  std::string subtitle{};       ///< Its rounds, messages and volume.
};

/// @return the picture of schedules. Throws Error{invalid_argument} if a receive has no send.
[[nodiscard]] Picture picture_of(const Printed& printed);

/// @return the distance of a message in columns, as it is drawn; negative to the left. @param ranks
/// number of ranks.
[[nodiscard]] int distance_of(const Arrow& arrow, int ranks) noexcept;

}  // namespace tutti::v0
