/// @file
/// Descriptors of files and sockets: how many a world needs, and what is said when they run out.
#pragma once

#include <string>

#include <tutti/error.hpp>

namespace tutti::runtime {

/// No descriptor is left, of this process or of its host.
class Shortage final : public Error {
 public:
  /// @param what follows the name of the rank in a message, such as "has no file descriptors left".
  explicit Shortage(const std::string& what)
      : Error{ErrorCode::transport, "this process " + what}, what_{what} {}
  /// @param rank the own one. @param host its host's name; empty: not said. @return the error that
  /// names it, and blames it.
  [[nodiscard]] Error of(Rank rank, const std::string& host) const;

 private:
  std::string what_;
};

/// Throws Error{transport}, a Shortage where the system tells of one.
/// @param what could not be done. @param error of the system.
[[noreturn]] void throw_system_error(const std::string& what, int error);

/// Raises the soft limit of this process towards the hard one, where a world needs more than it
/// allows. The limit stays, and is passed on to processes that are started.
/// @param ranks of the world.
void make_room_for(int ranks);
/// Throws Shortage where the limit allows no world of so many ranks, also if it can be raised by
/// root only. @param ranks of the world.
void require_room_for(int ranks);

}  // namespace tutti::runtime
