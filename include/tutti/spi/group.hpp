/// @file
/// Group: the ranks of a communicator, and the smaller groups and memory that they can make.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tutti/export.hpp>
#include <tutti/import_memory.hpp>
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

/// The parts of a communicator.
struct CommunicatorParts {
  std::unique_ptr<Transport> transport{};  ///< Connects its ranks.
  std::shared_ptr<Group> group{};          ///< Outlives the transport. May be null.
  std::shared_ptr<CallCounter> calls{};    ///< The communicator updates it. May be null.
  std::shared_ptr<FailureSignal>
      failure_signal{};    ///< The transport's, if its ranks agree. May be null.
  CostModel cost_model{};  ///< Costs for choices; equal on all ranks.
  /// Costs of the second of Capabilities::transports, and of those after it; equal on all ranks.
  /// Transports without an entry have default costs.
  std::vector<CostModel> other_cost_models{};
  /// The host of each rank, as a number; equal on all ranks. Empty: unknown.
  std::vector<int> hosts{};
  /// The place of each rank in its host; equal on all ranks. Empty: unknown.
  std::vector<Locality> localities{};
  /// Further settings for choices of the world; equal on all ranks. May be null.
  std::shared_ptr<const detail::SharedConfig> shared_config{};
};

/// Makes smaller groups, and memory that peers see. A backend without either has no Group.
/// Thread-safe.
class TUTTI_API Group {
 public:
  Group() = default;
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  virtual ~Group() = default;

  /// Makes a group of some of the ranks.
  /// @param members distinct ranks of this group, the own one among them; they become ranks 0, 1,
  /// ... in this order. Equal on all members.
  /// @param key equal on all members: those that name the same ranks and key for the k-th time get
  /// the same group. Throws Error.
  [[nodiscard]] virtual CommunicatorParts subgroup(std::span<const Rank> members,
                                                   std::uint64_t key) = 0;
  /// @return memory that peers of the same host read and write in place, or null.
  [[nodiscard]] virtual std::shared_ptr<Memory> visible_memory() noexcept = 0;
  /// Collective: makes memory of the program visible. @param exchange passes the own bytes to all
  /// ranks, and returns those of all. @return the memory, visible as long as it lives, or null if
  /// there is no such memory. Throws the same Error on all ranks.
  [[nodiscard]] virtual std::shared_ptr<std::byte> import_memory(
      const MappedFile& file,
      const std::function<std::vector<std::string>(std::string_view)>& exchange) {
    static_cast<void>(file), static_cast<void>(exchange);
    return nullptr;
  }
  /// Requests the status of other ranks.
  /// @param call number of the requested call, see CallCounter::status_of. @param patience time to
  /// wait for the last answer.
  /// @return the status of each peer.
  [[nodiscard]] virtual std::vector<CallStatus> inquire(std::span<const Rank> peers,
                                                        std::uint64_t call, Duration patience) {
    static_cast<void>(call), static_cast<void>(patience);
    return std::vector<CallStatus>(peers.size());
  }
  /// @return one line of text: the ranks, how they were found, and the transports between them.
  [[nodiscard]] virtual std::string describe() const = 0;
};

}  // namespace tutti::v0
