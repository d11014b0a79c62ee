/// @file
/// Maps chunks of MSCCL's buffers to slots of schedules.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include <tutti/spi/contract.hpp>
#include <tutti/spi/schedule.hpp>

#include "schedules/written_xml.hpp"

namespace tutti::v0::written {

/// Maps chunks of MSCCL's buffers to slots of schedules. A chunk of scratch is a plane of its own;
/// its unit is the one that was written there last.
class SlotLayout {
 public:
  /// Throws Error{invalid_argument} for impossible numbers. @param xml a parsed file.
  SlotLayout(const XmlAlgorithm& xml, Collective collective);

  /// @return input and output of the collective.
  [[nodiscard]] const Contract& contract() const noexcept { return contract_; }
  /// @return the number of units of the whole vector.
  [[nodiscard]] std::int64_t units() const noexcept { return units_; }
  /// @return a schedule without steps.
  [[nodiscard]] Schedule empty() const {
    return Schedule{static_cast<std::uint32_t>(units_), static_cast<std::uint32_t>(planes_)};
  }
  /// @param rank that reads. @param buffer its letter in the file. @param chunk its number. @return
  /// the slot.
  [[nodiscard]] Slots read(std::size_t rank, char buffer, std::int64_t chunk) const;
  /// Records a write. Writes to scratch take effect in the next round. @param rank, @param buffer
  /// and @param chunk as above. @param from the slot whose value is written. @return the slot.
  [[nodiscard]] Slots write(std::size_t rank, char buffer, std::int64_t chunk, const Slots& from);
  /// Ends a round.
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
  std::vector<std::map<std::int64_t, std::int64_t>> holds_{};  // by rank: units of scratch chunks
  std::vector<std::tuple<std::size_t, std::int64_t, std::int64_t>> written_{};
};

}  // namespace tutti::v0::written
