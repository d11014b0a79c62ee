/// @file
/// The memory one configuration is measured in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include <tutti/call.hpp>

#include "perf/sweep_pattern.hpp"
#include "perf/sweep_problem.hpp"

namespace tutti::perf {

/// What a check of the output found on this rank.
struct Check {
  std::size_t wrong = 0;   ///< Elements that differ from what they should be.
  std::uint64_t hash = 0;  ///< Of the output; equal on all ranks where the output is.
};

/// One rank's input and output, fenced by guard bytes, and the call that uses them.
class Buffers {
 public:
  /// Allocates. @param problem what is measured. @param rank whose buffers.
  Buffers(const Problem& problem, Rank rank);

  /// @return the call.
  [[nodiscard]] const Call& call() const noexcept { return call_; }
  /// Writes the input anew.
  void refresh();
  /// Overwrites the output, so that results of an earlier call cannot pass for new ones.
  void poison();
  /// Reads the output as an application would: every cache line. @return something to keep.
  [[nodiscard]] std::uint64_t read() const;
  /// Compares the output, and the bytes around it, with what must stand there. @return the outcome.
  [[nodiscard]] Check check();

 private:
  // Bytes from std::aligned_alloc.
  struct Free {
    void operator()(std::byte* memory) const noexcept { std::free(memory); }
  };
  // A buffer between two guards.
  struct Block {
    explicit Block(std::size_t bytes);
    [[nodiscard]] bool is_intact() const;
    [[nodiscard]] std::byte* data() const noexcept;
    std::size_t bytes;
    std::unique_ptr<std::byte, Free> memory;
  };
  [[nodiscard]] bool shares_memory() const noexcept;

  Problem problem_;
  Layout layout_;
  Pattern pattern_;
  Operator op_;
  std::size_t element_bytes_;
  Block in_;
  Block out_;
  Call call_{};
};

}  // namespace tutti::perf
