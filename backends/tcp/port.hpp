/// @file
/// Port: a communicator at its end in this process.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include <tutti/error.hpp>

#include "link.hpp"

namespace tutti::tcp {

/// Queues of messages are told apart by the lower bits of their tags, so that thousands in flight
/// do not make one long queue.
inline constexpr std::size_t kTagQueues = 16;
/// @param tag of a message. @return which queue it is in.
[[nodiscard]] inline std::size_t queue_of(std::uint32_t tag) noexcept {
  return tag % kTagQueues;
}

/// Another rank of a communicator, or the own one.
struct Member {
  Link* link = nullptr;       ///< Null for the own rank, and where there is none.
  std::uint32_t pending = 0;  ///< Transfers with it that are under way.
  std::array<Queue<Receive>, kTagQueues> posted{};      ///< Receives whose message has not begun.
  std::array<Queue<Inbound>, kTagQueues> unexpected{};  ///< Messages without a receive.
};

/// A communicator at its end in this process.
struct Port {
  std::uint64_t id = 0;               ///< Of the communicator.
  Rank self = 0;                      ///< Own rank in it.
  std::vector<Member> members{};      ///< By rank.
  std::vector<Rank> ranks{};          ///< By rank in the world; -1 for those that are no members.
  std::vector<Rank> awaited{};        ///< Members with something pending, in any order.
  Rank next_probed = 0;               ///< Of all ranks the first.
  std::size_t unclaimed = 0;          ///< Messages without a receive, from all members.
  Queue<Outbound> own{};              ///< Messages to the own rank without a receive.
  std::vector<std::uint64_t> done{};  ///< Cookies of what its transport has not been told yet.
  std::optional<Error> failure{};     ///< The first cause, thrown from now on.
  bool stopped = false;               ///< Whether nothing is under way any more, for good.

  /// @param rank which. @return the member.
  [[nodiscard]] Member& member(Rank rank) noexcept {
    return members[static_cast<std::size_t>(rank)];
  }
  /// @param world a rank of the world. @return the rank here, or -1.
  [[nodiscard]] Rank rank_of(Rank world) const noexcept {
    const auto index = static_cast<std::size_t>(world);
    return index < ranks.size() ? ranks[index] : -1;
  }
  /// @param error what happened. The first one counts.
  void fail(const Error& error) {
    if (!failure) failure = error;
  }
  /// Something with a member begins. @param rank which.
  void begin(Rank rank) {
    Member& with = member(rank);
    if (with.link != nullptr) ++with.link->pending;
    if (with.pending++ == 0) awaited.push_back(rank);
  }
  /// Something with a member is over. @param rank which. @param cookie of the transfer.
  void complete(Rank rank, std::uint64_t cookie) {
    Member& with = member(rank);
    done.push_back(cookie);
    if (with.link != nullptr) --with.link->pending;
    if (--with.pending == 0) std::erase(awaited, rank);
  }
};

}  // namespace tutti::tcp
