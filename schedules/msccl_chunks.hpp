/// @file
/// Maps slots of a schedule to chunks of MSCCL.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include <tutti/spi/contract.hpp>

#include "schedules/print.hpp"

namespace tutti::v0 {

/// A chunk: 'i', 'o' or 's', and its number there.
struct MscclChunk {
  char buffer = 'o';
  std::int64_t number = 0;
};

/// Numbers of chunks, as MSCCL defines them. In all_to_all, input and output are two buffers of a
/// rank's own blocks. In all other collectives they are one buffer, the whole vector. All further
/// slots are in scratch, numbered without gaps.
class MscclChunks {
 public:
  /// @param printed must outlive this object.
  explicit MscclChunks(const Printed& printed);

  /// @return whether input and output are one buffer.
  [[nodiscard]] bool in_place() const noexcept;
  /// @return the chunk that a step of this round reads for a slot.
  [[nodiscard]] MscclChunk read(Rank rank, Space space, std::uint32_t slot,
                                std::size_t round) const;
  /// @return the chunk that a step writes for a slot.
  [[nodiscard]] MscclChunk written(Rank rank, Space space, std::uint32_t slot) const;
  /// @return whether the schedule of an all_to_all lacks the copy of the rank's own block.
  [[nodiscard]] bool lacks_own_block(Rank rank) const;
  /// @return the slots of a rank's own block of an all_to_all.
  [[nodiscard]] Slots own_block(Rank rank, Space space) const noexcept;
  /// @return chunks of the input.
  [[nodiscard]] std::int64_t inputs() const noexcept;
  /// @return chunks of the output.
  [[nodiscard]] std::int64_t outputs() const noexcept;
  /// @return chunks of a rank's scratch.
  [[nodiscard]] std::int64_t scratch(Rank rank) const;

 private:
  struct RankChunks {
    std::map<std::uint32_t, std::size_t>
        written_at{};  // slot of `out` -> first round that writes it
    std::map<std::uint64_t, std::int64_t> scratch_number{};  // by key
  };
  void note(RankChunks& rank, Rank self, Space space, std::uint32_t slot);
  [[nodiscard]] bool is_output(Rank rank, std::uint32_t slot) const noexcept;
  [[nodiscard]] std::uint64_t key(Space space, std::uint32_t slot) const noexcept;
  [[nodiscard]] std::uint32_t block_of(std::uint32_t slot) const noexcept { return slot / parts_; }

  Contract contract_;
  std::uint32_t units_ = 1;
  std::uint32_t parts_ = 1;  // units of a block
  std::vector<RankChunks> ranks_{};
};

}  // namespace tutti::v0
