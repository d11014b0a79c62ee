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

/// Which segment of how many; a segment is the same fraction of every block.
struct Segment {
  std::size_t index = 0;
  std::size_t count = 1;
};

/// What lowering has to know beside the schedule and the sizes.
struct LoweringOptions {
  std::size_t element_bytes = 1;
  std::size_t segments = 1;  ///< That every block is cut into.
  bool divides = false;      ///< Whether Finish does something: where averages are made.
  bool combines = false;     ///< As Capabilities::combines, where the operator allows it.
  bool visible = false;      ///< Whether ranks see each other's memory, in this call.
  /// Whether what is made of a message is stored at its sender's too, where that spares a message.
  bool stores_results = true;
  /// Shorter messages are sent: two flags and a cache line's journey cost more than two copies.
  std::size_t least_visible = 2048;
  bool lockstep = false;  ///< As Traits::lockstep.
  /// Set for averages of f16 and bf16; null otherwise.
  std::shared_ptr<const Contributions> contributions{};
  bool keeps_empty = false;  ///< Whether messages without any bytes are sent too: where a peer
                             ///< cannot know that there are none.
};

/// What is sent is a message. What is received and reduced is combined while it comes, where
/// nothing else of the round touches what that touches, and else staged first. In visible memory it
/// stays where its sender has it where that spares something: another message, since the result is
/// stored at the sender's too, or the stages of several operands.
/// @param schedule of the layout's rank. @param layout sizes and places of blocks.
/// @param lowering see LoweringOptions. @param segment which one. @param in_place whether the
/// caller's input and output are the same memory. @return the program. Throws Error{bug} if the
/// schedule breaks the rules of schedule.hpp.
[[nodiscard]] Program lower(const Schedule& schedule, const Layout& layout,
                            const LoweringOptions& lowering, Segment segment, bool in_place);

/// The programs of one shape, each lowered when it is first needed.
class Programs {
 public:
  /// A program, and by how many bytes it is run behind the beginning of input and output.
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
  /// @return bytes of it, of all programs so far, and of the schedule.
  [[nodiscard]] std::size_t footprint() const noexcept { return footprint_; }

 private:
  Schedule schedule_;
  Layout layout_;
  LoweringOptions lowering_;
  std::vector<std::unique_ptr<const Program>> programs_{};  // by kind of segment, then in_place
  std::size_t footprint_;
};

}  // namespace tutti::v0::detail
