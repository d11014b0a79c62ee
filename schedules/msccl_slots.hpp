/// @file
/// Which slot of a schedule a chunk in a buffer of MSCCL is.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include <tutti/spi/contract.hpp>
#include <tutti/spi/schedule.hpp>

#include "schedules/written_xml.hpp"

namespace tutti::v0::written {

/// Chunks of MSCCL's buffers as slots of ours. A chunk of scratch is a plane of its own, in which
/// it stands at the unit that was written there last.
class Slotting {
 public:
  /// Throws Error{invalid_argument} for numbers that cannot be. @param xml what a file says.
  /// @param collective what for.
  Slotting(const XmlAlgorithm& xml, Collective collective);

  /// @return what the schedules are for.
  [[nodiscard]] const Contract& contract() const noexcept { return contract_; }
  /// @return units of the whole vector.
  [[nodiscard]] std::int64_t units() const noexcept { return units_; }
  /// @return a schedule to begin with.
  [[nodiscard]] Schedule empty() const {
    return Schedule{static_cast<std::uint32_t>(units_), static_cast<std::uint32_t>(planes_)};
  }
  /// @param rank who reads. @param buffer where. @param chunk which. @return the slot.
  [[nodiscard]] Slots read(std::size_t rank, char buffer, std::int64_t chunk) const;
  /// @param rank who writes. @param buffer where. @param chunk which. @param from the slot that it
  /// comes from. @return the slot. What is in scratch is known from the next round on.
  [[nodiscard]] Slots write(std::size_t rank, char buffer, std::int64_t chunk, const Slots& from);
  /// A round is over.
  void end_round();

 private:
  [[nodiscard]] Slots scratch(std::int64_t chunk, std::int64_t unit) const;
  [[nodiscard]] Slots outer(std::size_t rank, char buffer, std::int64_t chunk) const;
  [[nodiscard]] Slots slot(Space space, std::int64_t unit) const;

  Contract contract_;
  bool in_place_;
  std::int64_t per_block_ = 1;
  std::int64_t units_ = 1;
  std::int64_t planes_ = 0;
  std::vector<std::map<std::int64_t, std::int64_t>> holds_{};  // which unit a chunk of scratch is
  std::vector<std::tuple<std::size_t, std::int64_t, std::int64_t>> written_{};
};

}  // namespace tutti::v0::written
