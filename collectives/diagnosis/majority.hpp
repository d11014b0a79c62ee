/// @file
/// The majority among the calls of all ranks, and the rank whose call differs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <tutti/spi/call_status.hpp>

namespace tutti::v0::detail {

/// Groups ranks by their call of one number. Ranks that are gone, or have not reached that call, do
/// not count.
class Majority {
 public:
  /// @param all the status of each rank about the call. @param number of the call, from one.
  /// @param differ whether it is certain that ranks differ: a rank that is so far ahead that it has
  /// forgotten the call then counts as one that differs.
  Majority(std::span<const CallStatus> all, std::uint64_t number, bool differ);

  /// Whether ranks differ.
  [[nodiscard]] bool differs() const noexcept { return groups_.size() > 1; }
  /// Whether ranks that have not reached the call yet cannot change the verdict.
  [[nodiscard]] bool is_decided() const noexcept;
  /// Needs differs(). @return Error{mismatch} that names a rank: the first that rejected its call,
  /// or the first outside the majority; no rank if there is no majority.
  [[nodiscard]] Error verdict() const;

 private:
  struct CallGroup {
    std::uint64_t fingerprint = 0;
    bool has_forgotten = false;
    std::uint64_t begun = 0;  // latest call of its first rank
    std::string words{};
    std::vector<std::size_t> ranks{};
  };
  void join(std::size_t rank, const CallStatus& found);
  [[nodiscard]] std::string call_of(const CallGroup& group) const;

  std::uint64_t number_;
  std::size_t size_;
  std::size_t voters_ = 0;
  std::size_t still_to_come_ = 0;
  std::vector<CallGroup> groups_{};  // the largest first; of equal ones, that of the lowest rank
};

}  // namespace tutti::v0::detail
