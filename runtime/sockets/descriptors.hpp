/// @file
/// Descriptors of files and sockets: the number that a world needs, and the error without enough.
#pragma once

#include <cstdint>
#include <string>

#include <tutti/error.hpp>

namespace tutti::runtime {

/// The process or its host has no descriptor left.
class DescriptorShortage final : public Error {
 public:
  /// @param what follows the rank in the message, such as "has no file descriptors left".
  explicit DescriptorShortage(const std::string& what)
      : Error{ErrorCode::transport, "this process " + what}, what_{what} {}
  /// @param host of the rank; may be empty. @return the same error with rank and host, and with the
  /// rank as its culprit.
  [[nodiscard]] Error with_rank(Rank rank, const std::string& host) const;

 private:
  std::string what_;
};

/// Throws Error{transport}, a DescriptorShortage if the system reports one. @param what failed.
/// @param error of errno.
[[noreturn]] void throw_system_error(const std::string& what, int error);

/// The descriptors that this process may have, and those that a world needs, with the open ones.
struct DescriptorNeed {
  std::uint64_t allowed = 0;  ///< The soft limit.
  std::uint64_t most = 0;     ///< The hard limit.
  std::uint64_t least = 0;    ///< With fewer, the world fails.
  std::uint64_t wanted =
      0;  ///< While the world starts, with connections that are not authenticated.
};
[[nodiscard]] DescriptorNeed descriptor_need(int ranks);

/// Raises the soft limit of this process towards the hard one if a world needs more descriptors.
/// The limit stays, and child processes inherit it.
void raise_descriptor_limit(int ranks);
/// Throws DescriptorShortage if the limit is too low for a world of this size.
void require_descriptors(int ranks);

}  // namespace tutti::runtime
