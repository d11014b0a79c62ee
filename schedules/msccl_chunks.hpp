/// @file
/// Which chunk in a buffer of MSCCL a slot of a schedule is.
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

/// Slots as chunks, by MSCCL's own numbers. In all_to_all, input and output are two buffers of a
/// rank's own blocks; in all other collectives they are one memory: that of the whole vector. What
/// a rank keeps beside these is in scratch, numbered without gaps.
class MscclChunks {
 public:
  /// @param printed schedules of all ranks, which must outlive this object.
  explicit MscclChunks(const Printed& printed);

  /// @return whether input and output are one memory.
  [[nodiscard]] bool in_place() const noexcept;
  /// @param space of the slot. @param slot that is read. @param round in which. @return the chunk.
  [[nodiscard]] MscclChunk read(Rank rank, Space space, std::uint32_t slot,
                                std::size_t round) const;
  /// @param space of the slot. @param slot that is written. @return the chunk.
  [[nodiscard]] MscclChunk written(Rank rank, Space space, std::uint32_t slot) const;
  /// @return whether none of its steps writes its own block of an all_to_all.
  [[nodiscard]] bool lacks_own_block(Rank rank) const;
  /// @return the slots of a rank's own block of an all_to_all.
  [[nodiscard]] Slots own_block(Rank rank, Space space) const noexcept;
  /// @return chunks of the input.
  [[nodiscard]] std::int64_t inputs() const noexcept;
  /// @return chunks of the output.
  [[nodiscard]] std::int64_t outputs() const noexcept;
  /// @return chunks of scratch. @param rank of which.
  [[nodiscard]] std::int64_t scratch(Rank rank) const;

 private:
  struct RankChunks {
    std::map<std::uint32_t, std::size_t> written_at{};       // slots of `out`: first round
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
