/// @file
/// Group: the ranks behind a communicator, and what they can make among themselves.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include <tutti/costs.hpp>
#include <tutti/memory.hpp>
#include <tutti/transport.hpp>

namespace tutti {

class Group;

/// How far a rank of a communicator has got, for the others to ask when they wait for it.
struct CallCounter {
  std::atomic<std::uint64_t> begun{0};  ///< Calls it has begun.
};

/// What a rank is found to be doing.
struct Whereabouts {
  /// What could be found out.
  enum class State : std::uint8_t {
    unknown,  ///< Nobody can be asked.
    dead,     ///< It has ended, or cannot be reached.
    left,     ///< It has left the world in good order.
    silent,   ///< It does not answer.
    absent,   ///< It has not made this communicator, or destroyed it.
    there     ///< It has answered.
  };
  State state = State::unknown;  ///< What could be found out.
  std::uint64_t begun = 0;       ///< If it is there: calls it has begun on this communicator.
};

/// What a communicator stands on.
struct Footing {
  std::unique_ptr<Transport> transport{};  ///< Connects its ranks.
  std::shared_ptr<Group> group{};          ///< Outlives the transport. May be null.
  std::shared_ptr<CallCounter> calls{};    ///< Kept up to date by the communicator. May be null.
  Tariff tariff{};                         ///< What algorithms are chosen by; equal on all ranks.
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
  /// Asks a rank what it is doing. @param peer another rank. @param patience how long to wait for
  /// its answer. @return what could be found out.
  [[nodiscard]] virtual Whereabouts inquire(Rank peer, Duration patience) {
    static_cast<void>(peer);
    static_cast<void>(patience);
    return {};
  }
  /// @return one line for a person: the ranks, how they were found, what connects them.
  [[nodiscard]] virtual std::string describe() const = 0;
};

}  // namespace tutti
