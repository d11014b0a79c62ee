/// @file
/// Port: a communicator at its end in this process; and the ports of a process.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <tutti/error.hpp>

#include "link.hpp"

namespace tutti::tcp {

/// Another rank of a communicator, or the own one.
struct Member {
  Link* link = nullptr;       ///< Null for the own rank, and where there is none.
  std::uint32_t pending = 0;  ///< Transfers with it that are under way.
};

/// A communicator at its end in this process.
struct Port {
  /// Thousands of messages in flight do not make one long queue.
  static constexpr std::size_t kTagQueues = 16;

  std::uint64_t id = 0;               ///< Of the communicator.
  Rank self = 0;                      ///< Own rank in it.
  std::vector<Member> members{};      ///< By rank.
  std::vector<Rank> ranks{};          ///< By rank in the world; -1 for those that are no members.
  std::vector<Rank> awaited{};        ///< Members with something pending, in any order.
  detail::Matcher<Receive, Inbound, kTagQueues> matcher{};  ///< Receives and messages.
  std::vector<std::uint64_t> done{};  ///< Cookies of completions that its transport has yet to get.
  std::optional<Error> failure{};     ///< The first cause, thrown from now on.
  bool stopped = false;               ///< Whether nothing is under way any more, for good.

  /// @return the member.
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
  /// Fails, since a link is needed that can be used no more. @param rank at its other end.
  /// @param loss of the link.
  void fail(Rank rank, const Loss& loss) {
    fail({loss.code, "rank " + std::to_string(rank) + " " + loss.reason,
          loss.code == ErrorCode::peer_dead ? rank : -1});
  }
  /// Calls combiners. An exception of one fails its own communicator, also if the poll of another
  /// communicator met it. @param combine called once. @return whether it threw nothing.
  template <class Combine>
  [[nodiscard]] bool guard(Combine combine) {
    try {
      combine();
      return true;
    } catch (const Error& error) {
      fail(error);
    } catch (const std::exception& error) {
      fail({ErrorCode::aborted, std::string{"an exception ended a reduction: "} + error.what()});
    }
    return false;
  }
  /// Something with a member begins.
  void begin(Rank rank) {
    Member& with = member(rank);
    if (with.link != nullptr) ++with.link->pending;
    if (with.pending++ == 0) awaited.push_back(rank);
  }
  /// Something with a member is over. @param cookie of the transfer.
  void complete(Rank rank, std::uint64_t cookie) {
    Member& with = member(rank);
    done.push_back(cookie);
    if (with.link != nullptr) --with.link->pending;
    if (--with.pending == 0) std::erase(awaited, rank);
  }
};

/// The communicators of a process by their numbers, those that have ended as well: late frames of
/// these must not be taken for those of a communicator to come.
class Ports {
 public:
  /// @param port whose number must not have been used before. Throws Error{invalid_argument}.
  void add(Port& port);
  /// @param port that ends.
  void remove(const Port& port) noexcept;
  /// @param id of a communicator. @return it, or null.
  [[nodiscard]] Port* find(std::uint64_t id) noexcept;
  /// @param id of a communicator. @return whether it has ended.
  [[nodiscard]] bool has_ended(std::uint64_t id) const noexcept { return ended_.contains(id); }
  /// @return those that have not ended.
  [[nodiscard]] const std::unordered_map<std::uint64_t, Port*>& all() const noexcept {
    return ports_;
  }

 private:
  std::unordered_map<std::uint64_t, Port*> ports_{};
  Port* last_found_ = nullptr;  // most frames are for the same communicator
  std::unordered_set<std::uint64_t> ended_{};
  std::deque<std::uint64_t> ended_order_{};  // the same, the oldest in front
};

}  // namespace tutti::tcp
