/// @file
/// Group: the ranks behind a communicator, and what they can make among themselves.
#pragma once

#include <memory>
#include <span>
#include <string>

#include <tutti/memory.hpp>
#include <tutti/transport.hpp>

namespace tutti {

class Group;

/// What a communicator stands on.
struct Footing {
  std::unique_ptr<Transport> transport{};  ///< Connects its ranks.
  std::shared_ptr<Group> group{};          ///< Outlives the transport.
};

/// Makes smaller groups, and memory that peers see. A backend that can do neither has no Group.
/// Calls from several threads at once are safe.
class Group {
 public:
  Group() = default;
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  virtual ~Group() = default;

  /// Makes a group of some of the ranks.
  /// @param members distinct ranks of this group, the own one among them; they are ranks 0, 1, ...
  /// of the new one in this order. All members must name the same.
  /// @return what the new group stands on. Throws Error.
  [[nodiscard]] virtual Footing subgroup(std::span<const Rank> members) = 0;
  /// @return memory in which peers of the same host read and write in place, or null where there
  /// is none.
  [[nodiscard]] virtual std::shared_ptr<Memory> visible_memory() noexcept = 0;
  /// @return one line for a person: the ranks, how they were found, what connects them.
  [[nodiscard]] virtual std::string describe() const = 0;
};

}  // namespace tutti
