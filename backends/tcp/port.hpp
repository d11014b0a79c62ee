/// @file
/// Ports: the communicators of a process, with their transfers.
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
  Link* link = nullptr;       ///< Null for the own rank, and if there is none.
  std::uint32_t pending = 0;  ///< Pending transfers with it.
};

/// A communicator in this process.
struct Port {
  /// Queues by tag, so that thousands of messages do not make one long queue.
  static constexpr std::size_t kTagQueues = 16;

  std::uint64_t id = 0;           ///< Number of the communicator.
  Rank self = 0;                  ///< Own rank in it.
  std::vector<Member> members{};  ///< By rank.
  std::vector<Rank> ranks{};      ///< By rank in the world; -1 for a rank that is no member.
  std::vector<Rank> awaited{};    ///< Members with something pending, in any order.
  detail::Matcher<Receive, Inbound, kTagQueues> matcher{};  ///< Receives and messages.
  std::vector<std::uint64_t> done{};  ///< Cookies of completions that its transport has yet to get.
  std::optional<Error> failure{};     ///< The first failure, which later calls throw.
  bool stopped = false;               ///< Whether all transfers were dropped, and none may follow.

  [[nodiscard]] Member& member(Rank rank) noexcept {
    return members[static_cast<std::size_t>(rank)];
  }
  /// @param world a rank of the world. @return the rank here, or -1.
  [[nodiscard]] Rank rank_of(Rank world) const noexcept {
    const auto index = static_cast<std::size_t>(world);
    return index < ranks.size() ? ranks[index] : -1;
  }
  /// Keeps the first error.
  void fail(const Error& error) {
    if (!failure) failure = error;
  }
  /// Fails, since it needs a lost link. @param rank at its other end.
  void fail(Rank rank, const Loss& loss) {
    fail({loss.code, "rank " + std::to_string(rank) + " " + loss.reason,
          loss.code == ErrorCode::peer_dead ? rank : -1});
  }
  /// Runs a function that calls a combiner. An exception of it fails this communicator, even if
  /// another one is polled. @return whether it threw nothing.
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
  /// Notes the begin of a transfer with a member.
  void begin(Rank rank) {
    Member& with = member(rank);
    if (with.link != nullptr) ++with.link->pending;
    if (with.pending++ == 0) awaited.push_back(rank);
  }
  /// Completes a transfer with a member.
  void complete(Rank rank, std::uint64_t cookie) {
    Member& with = member(rank);
    done.push_back(cookie);
    if (with.link != nullptr) --with.link->pending;
    if (--with.pending == 0) std::erase(awaited, rank);
  }
};

/// The communicators of a process by their numbers. Numbers of ended ones are kept, so that their
/// late frames are not taken for those of a communicator that does not exist here yet.
class Ports {
 public:
  /// @param port with a number that was not used before. Throws Error{invalid_argument} otherwise.
  void add(Port& port);
  /// Notes that a communicator has ended.
  void remove(const Port& port) noexcept;
  /// @return the communicator of a number, or null.
  [[nodiscard]] Port* find(std::uint64_t id) noexcept;
  /// @return whether the communicator of a number has ended.
  [[nodiscard]] bool has_ended(std::uint64_t id) const noexcept { return ended_.contains(id); }
  /// @return the communicators that have not ended.
  [[nodiscard]] const std::unordered_map<std::uint64_t, Port*>& all() const noexcept {
    return ports_;
  }

 private:
  std::unordered_map<std::uint64_t, Port*> ports_{};
  Port* last_found_ = nullptr;  // most frames are for the same communicator
  std::unordered_set<std::uint64_t> ended_{};
  std::deque<std::uint64_t> ended_order_{};  // numbers of ended_, the oldest in front
};

}  // namespace tutti::tcp
