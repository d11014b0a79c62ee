/// @file
/// Finds the rank at fault when a call does not advance.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <tutti/spi/group.hpp>

#include "collectives/execution/execution.hpp"

#include "majority.hpp"

namespace tutti::v0::detail {

/// Asks the ranks of a communicator for their calls, and derives which one is at fault. If they
/// cannot be asked, it uses the calls of this rank alone.
class Blame {
 public:
  /// @param group asks the other ranks, or null. @param calls of this rank.
  Blame(Group* group, const CallCounter& calls, Rank self, int size) noexcept
      : group_{group}, calls_{calls}, self_{self}, size_{size} {}

  /// @param execution a call whose deadline has passed. @return Error{timeout} that names the last
  /// rank of the chain of waits, and prints the chain; Error{mismatch} if ranks are in different
  /// calls.
  [[nodiscard]] Error lateness(const Execution& execution, Duration now) const;
  /// Asks the rank for which a collective waits whether it made the same call. If it made another
  /// one, it may have ended that without a message to this rank, which would wait in vain.
  /// @return Error{mismatch} if its call of that number is another one; Error{peer_dead} if it has
  /// left the world without making this communicator; otherwise nothing.
  [[nodiscard]] std::optional<Error> disagreement_with_awaited(const CallWait& wait) const;
  /// @param mismatch that a transport found. @param latest number of the latest call, from one.
  /// @return Error{mismatch} that names a rank whose call differs from that of most ranks, if one
  /// does; otherwise the mismatch, with the call of this rank.
  [[nodiscard]] Error explained(const Error& mismatch, std::uint64_t latest) const;
  /// @param departure the error of an awaited rank that is gone. @param latest as in explained().
  /// @return Error{mismatch} if that rank ended normally, and one of its latest calls differs from
  /// that of this rank; otherwise the departure.
  [[nodiscard]] Error behind_departure(const Error& departure, std::uint64_t latest) const;

 private:
  [[nodiscard]] std::vector<CallStatus> ask(std::uint64_t number) const;
  [[nodiscard]] std::vector<CallStatus> ask_until_decided(std::uint64_t number) const;
  [[nodiscard]] std::optional<Error> disagreement(std::uint64_t number,
                                                  const std::vector<CallStatus>& all) const;

  Group* group_;
  const CallCounter& calls_;
  Rank self_;
  int size_;
};

}  // namespace tutti::v0::detail
