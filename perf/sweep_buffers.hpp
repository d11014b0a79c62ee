/// @file
/// The memory one configuration is measured in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include <tutti/call.hpp>

#include "perf/sweep_pattern.hpp"
#include "perf/sweep_problem.hpp"

namespace tutti::perf {

/// What a check of the output found on this rank.
struct Check {
  std::size_t wrong = 0;   ///< Elements that differ from what they should be.
  std::uint64_t hash = 0;  ///< Of the output; equal on all ranks where the output is.
};

/// Gives memory aligned to a page. @param bytes more than zero.
using Allocate = std::function<std::shared_ptr<std::byte>(std::size_t bytes)>;
/// @param bytes more than zero. @return memory that no other rank sees; throws std::bad_alloc.
[[nodiscard]] std::shared_ptr<std::byte> allocate_private(std::size_t bytes);

/// One rank's input and output, fenced by guard bytes, and the call that uses them.
class Buffers {
 public:
  /// Allocates. @param problem what is measured. @param rank whose buffers. @param allocate gives
  /// the memory.
  Buffers(const Problem& problem, Rank rank, const Allocate& allocate = allocate_private);

  /// @return the calls, one after the other: two in a ping-pong, none on a rank that has no part
  /// in it, one else.
  [[nodiscard]] std::span<const Call> calls() const noexcept { return calls_; }
  /// @return the same, with the elements per block where blocks differ, which for a library's own
  /// call stand in the Call and for ours in the Options.
  [[nodiscard]] std::span<const Call> native_calls() const noexcept { return native_calls_; }
  /// @return Options::counts of the calls.
  [[nodiscard]] Counts counts() const noexcept { return told_ ? Counts{counts_} : Counts{}; }
  /// Writes the input anew.
  void refresh();
  /// Overwrites the output, so that results of an earlier call cannot pass for new ones.
  void poison();
  /// Reads the output as an application would: every cache line. @return something to keep.
  [[nodiscard]] std::uint64_t read() const;
  /// Compares the output, and the bytes around it, with what must stand there. @return the outcome.
  [[nodiscard]] Check check();

 private:
  // A buffer between two guards.
  struct Block {
    Block(std::size_t bytes, const Allocate& allocate);
    [[nodiscard]] bool is_intact() const;
    [[nodiscard]] std::byte* data() const noexcept;
    std::size_t bytes;
    std::shared_ptr<std::byte> memory;
  };
  [[nodiscard]] bool shares_memory() const noexcept;
  void place();
  void place_blocks(Rank rank);
  [[nodiscard]] std::vector<Call> messages(Rank rank) const;

  Problem problem_;
  Layout layout_;
  Pattern pattern_;
  Operator op_;
  std::size_t element_bytes_;
  Block in_;
  Block out_;
  Call call_{};                        // with both buffers
  std::vector<Call> calls_{};          // what it comes to
  std::vector<Call> native_calls_{};   // likewise
  std::vector<std::size_t> counts_{};  // of uneven blocks, as this rank sees them
  bool told_ = false;                  // whether all ranks see the same
};

}  // namespace tutti::perf
