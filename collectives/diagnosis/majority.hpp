/// @file
/// Majority: the reports of ranks about one call, and the rank whose report differs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <tutti/spi/call_status.hpp>

namespace tutti::v0::detail {

/// The calls of one number of all ranks. Those that are gone, or have not come to it, do not count.
class Majority {
 public:
  /// @param all what was found out about each rank when asked for the call. @param number of it,
  /// from one. @param differ whether it is certain that ranks differ: then one that has gone on so
  /// far that it does not know the call any more is taken to differ from the others.
  Majority(std::span<const CallStatus> all, std::uint64_t number, bool differ);

  /// Whether ranks differ.
  [[nodiscard]] bool differs() const noexcept { return groups_.size() > 1; }
  /// Whether ranks that have not come yet can change nothing.
  [[nodiscard]] bool is_decided() const noexcept;
  /// If ranks differ: Error{mismatch} that names the first rank whose call is not that of more than
  /// half of those that have come, or nobody if there are no such.
  [[nodiscard]] Error verdict() const;

 private:
  struct CallGroup {
    std::uint64_t fingerprint = 0;
    bool has_forgotten = false;
    std::uint64_t begun = 0;  // of its first rank
    std::string words{};
    std::vector<std::size_t> ranks{};
  };
  void join(std::size_t rank, const CallStatus& found);
  [[nodiscard]] std::string call_of(const CallGroup& group) const;

  std::uint64_t number_;
  std::size_t size_;
  std::size_t voters_ = 0;
  std::size_t still_to_come_ = 0;
  std::vector<CallGroup> groups_{};  // the largest first; of equal ones that of the lowest rank
};

}  // namespace tutti::v0::detail
