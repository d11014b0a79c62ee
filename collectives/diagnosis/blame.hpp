/// @file
/// Blame: finds the rank at fault when a call does not advance.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <tutti/spi/group.hpp>

#include "collectives/execution/execution.hpp"

#include "majority.hpp"

namespace tutti::v0::detail {

/// Asks the ranks of a communicator for their calls, and concludes which one is at fault. Where
/// they cannot be asked it concludes from what this rank saw.
class Blame {
 public:
  /// @param group who can be asked, or null. @param calls of this rank. @param self this rank.
  /// @param size ranks.
  Blame(Group* group, const CallCounter& calls, Rank self, int size) noexcept
      : group_{group}, calls_{calls}, self_{self}, size_{size} {}

  /// @param execution a call whose deadline has passed. @param now the time.
  /// @return Error{timeout} that names the rank at the end of what it waits for, and how that hangs
  /// together; Error{mismatch} if ranks are in different calls.
  [[nodiscard]] Error lateness(const Execution& execution, Duration now) const;
  /// Asks the rank that a collective waits for whether it is in the same call. A rank to which
  /// another call gave nothing to do has gone on, and no message of it need ever come here.
  /// @param wait for another rank, in a collective. @return Error{mismatch} if its call of that
  /// number is another one.
  [[nodiscard]] std::optional<Error> disagreement_with_awaited(const CallWait& wait) const;
  /// @param mismatch that a transport found. @param latest number of the latest call, from one.
  /// @return Error{mismatch} that names a rank whose call differs from that of most, if the ranks'
  /// calls tell; else the mismatch, and what this rank called.
  [[nodiscard]] Error explained(const Error& mismatch, std::uint64_t latest) const;
  /// @param departure of a rank that was waited for. @param latest as of explained.
  /// @return Error{mismatch} if that rank has left in good order, and one of its latest calls is
  /// another one than that of this rank; else the departure.
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
