/// @file
/// Lowering: from a schedule to a program of operations.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <vector>

#include <tutti/spi/schedule.hpp>

#include "proof/program.hpp"

#include "contributions.hpp"
#include "layout.hpp"

namespace tutti::v0::detail {

/// One of several segments. A segment is the same fraction of every block.
struct Segment {
  std::size_t index = 0;
  std::size_t count = 1;
};

/// Facts that lowering needs beside the schedule and the sizes.
struct LoweringOptions {
  std::size_t element_bytes = 1;
  std::size_t segments = 1;  ///< Segments of every block.
  bool divides = false;      ///< Whether Finish divides: for averages.
  bool combines = false;     ///< As Capabilities::combines, if the operator allows it.
  bool visible = false;      ///< Whether ranks see each other's memory in this call.
  /// Whether the receiver of a message stores its result at the sender too, if that spares the
  /// message that would return it.
  bool stores_results = true;
  /// Messages of fewer bytes are copied to the receiver: for them two flags and a transfer of a
  /// cache line cost more than two copies.
  std::size_t least_visible = 2048;
  bool lockstep = false;  ///< As Traits::lockstep.
  /// Set for averages of f16 and bf16; null otherwise.
  std::shared_ptr<const Contributions> contributions{};
  bool keeps_empty = false;  ///< Whether messages of no bytes are sent too, because a peer cannot
                             ///< know that they are empty.
};

/// Turns the schedule of the layout's rank into a program. A send becomes a message. A receive that
/// reduces is combined while it arrives, unless another step of the round uses the same bytes; then
/// it is staged first. In visible memory it stays at the sender if that spares something: the
/// message that would return the result, which is stored at the sender too, or stages of several
/// operands. @param in_place whether the caller's input and output are the same memory. Throws
/// Error{bug} if the schedule breaks the rules of schedule.hpp.
[[nodiscard]] Program lower(const Schedule& schedule, const Layout& layout,
                            const LoweringOptions& lowering, Segment segment, bool in_place);

/// The programs of one shape, each lowered when it is first needed.
class Programs {
 public:
  /// A program, and the offset in bytes at which it runs in input and output.
  struct Found {
    const Program* program = nullptr;
    std::size_t shift = 0;
  };
  Programs(Schedule schedule, Layout layout, const LoweringOptions& lowering);

  [[nodiscard]] const Layout& layout() const noexcept { return layout_; }
  [[nodiscard]] const Schedule& schedule() const noexcept { return schedule_; }
  [[nodiscard]] std::size_t segments() const noexcept { return lowering_.segments; }
  /// @param segment in [0, segments()). @param in_place as lower. @return its program.
  [[nodiscard]] Found find(std::size_t segment, bool in_place);
  /// @return its bytes of memory, with those of the schedule and of all programs so far.
  [[nodiscard]] std::size_t footprint() const noexcept { return footprint_; }

 private:
  Schedule schedule_;
  Layout layout_;
  LoweringOptions lowering_;
  std::vector<std::unique_ptr<const Program>> programs_{};  // by kind of segment, then in_place
  std::size_t footprint_;
};

}  // namespace tutti::v0::detail
