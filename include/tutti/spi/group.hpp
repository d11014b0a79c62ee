/// @file
/// Group: the ranks behind a communicator, and what they can make among themselves.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <tutti/export.hpp>
#include <tutti/spi/call_status.hpp>
#include <tutti/spi/cores.hpp>
#include <tutti/spi/costs.hpp>
#include <tutti/spi/failure_signal.hpp>
#include <tutti/spi/memory.hpp>
#include <tutti/spi/transport.hpp>

namespace tutti::v0 {

class Group;
namespace detail {
struct SharedConfig;
}  // namespace detail

/// What a communicator stands on.
struct CommunicatorParts {
  std::unique_ptr<Transport> transport{};  ///< Connects its ranks.
  std::shared_ptr<Group> group{};          ///< Outlives the transport. May be null.
  std::shared_ptr<CallCounter> calls{};    ///< Kept up to date by the communicator. May be null.
  std::shared_ptr<FailureSignal>
      failure_signal{};    ///< The transport's, if its ranks agree. May be null.
  CostModel cost_model{};  ///< What algorithms are chosen by; equal on all ranks.
  /// Costs of the second of Capabilities::transports, and of those after it; equal on all ranks.
  /// Transports without an entry have default costs.
  std::vector<CostModel> other_cost_models{};
  /// On which host each rank is, as numbers; equal on all ranks. Empty where they do not know.
  std::vector<int> hosts{};
  /// In which part of its host each rank is; equal on all ranks. Empty where they do not know.
  std::vector<Locality> localities{};
  /// What else choices of the world rest on; equal on all ranks. May be null.
  std::shared_ptr<const detail::SharedConfig> shared_config{};
};

/// Makes smaller groups, and memory that peers see. A backend that can do neither has no Group.
/// Calls from several threads at once are safe.
class TUTTI_API Group {
 public:
  Group() = default;
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  virtual ~Group() = default;

  /// Makes a group of some of the ranks.
  /// @param members distinct ranks of this group, the own one among them; they are ranks 0, 1, ...
  /// of the new one in this order. All members must name the same. @param key equal on all of them:
  /// those that name the same ranks and key for the k-th time get the same group.
  /// @return what the new group stands on. Throws Error.
  [[nodiscard]] virtual CommunicatorParts subgroup(std::span<const Rank> members,
                                                   std::uint64_t key) = 0;
  /// @return memory in which peers of the same host read and write in place, or null where there
  /// is none.
  [[nodiscard]] virtual std::shared_ptr<Memory> visible_memory() noexcept = 0;
  /// Asks ranks what they are doing. @param peers other ranks. @param call number of the call they
  /// are asked for, see CallCounter::tell. @param patience how long to wait for the last answer.
  /// @return what could be found out about each.
  [[nodiscard]] virtual std::vector<CallStatus> inquire(std::span<const Rank> peers,
                                                        std::uint64_t call, Duration patience) {
    static_cast<void>(call), static_cast<void>(patience);
    return std::vector<CallStatus>(peers.size());
  }
  /// @return one line for a person: the ranks, how they were found, what connects them.
  [[nodiscard]] virtual std::string describe() const = 0;
};

}  // namespace tutti::v0
