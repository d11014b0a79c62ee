/// @file
/// The memory one configuration is measured in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <tutti/call.hpp>

#include "backends/cuda/timed_stream.hpp"
#include "perf/sweep/alignment.hpp"
#include "perf/sweep/pattern.hpp"
#include "perf/sweep/workload.hpp"

namespace tutti::perf {

/// What a check of the output found on this rank.
struct Check {
  std::size_t wrong = 0;   ///< Elements that differ from what they should be.
  std::uint64_t hash = 0;  ///< Of the output; equal on all ranks where the output is.
};

/// One rank's input and output, fenced by guard bytes, and the call that uses them.
class Buffers {
 public:
  /// Allocates. @param workload what is measured. @param rank whose buffers. @param alignment where
  /// they begin, unless they are a GPU's. A broadcast's buffer is an input at the root and an
  /// output elsewhere. @param allocate gives the memory. @param gpu copies from and to it, where it
  /// is a GPU's; else null. It outlives this.
  Buffers(const Workload& workload, Rank rank, const Alignment& alignment = {},
          const Allocate& allocate = allocate_private, cuda::TimedStream* gpu = nullptr);

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
  /// Reads the output as an application would: every cache line, but where a GPU has it. @return
  /// something to keep.
  [[nodiscard]] std::uint64_t read() const;
  /// Compares the output, and the bytes around it, with what must stand there. @return the outcome.
  [[nodiscard]] Check check();
  /// @return the bytes of the output.
  [[nodiscard]] std::vector<std::byte> output();

 private:
  // A buffer between two guards. Memory of a GPU has a copy in memory of the host.
  struct Block {
    // `offset` is that of the data from a page, and of no account on a GPU.
    Block(std::size_t bytes, std::size_t offset, const Allocate& allocate, cuda::TimedStream* gpu);
    [[nodiscard]] bool is_intact() const;
    [[nodiscard]] std::byte* data() const noexcept;
    // What the host has of an address in it.
    [[nodiscard]] std::byte* on_host(const void* address) const noexcept;
    void store(void* to, std::size_t count) const;  // from the copy
    void load() const;                              // to the copy, with the guards
    std::size_t bytes;
    std::size_t whole;  // with the guards
    std::shared_ptr<std::byte> memory;
    std::shared_ptr<std::byte> host;
    cuda::TimedStream* gpu;
  };
  [[nodiscard]] bool shares_memory() const noexcept;
  [[nodiscard]] std::size_t in_offset(const Alignment& alignment, Rank rank) const;
  [[nodiscard]] const Block& out_block() const noexcept { return shares_memory() ? in_ : out_; }
  [[nodiscard]] std::size_t out_bytes() const noexcept { return call_.out_count * element_bytes_; }
  void place();
  void place_blocks(Rank rank);
  void keep_input(const Allocate& allocate);
  [[nodiscard]] std::vector<Call> messages(Rank rank) const;

  Workload workload_;
  cuda::TimedStream* gpu_;
  BufferContents contents_;
  Pattern pattern_;
  Operator op_;
  std::size_t element_bytes_;
  Block in_;
  Block out_;
  std::optional<Block> kept_input_{};  // on a GPU, from which it is written anew
  Call call_{};                        // with both buffers
  std::vector<Call> calls_{};          // what it comes to
  std::vector<Call> native_calls_{};   // likewise
  std::vector<std::size_t> counts_{};  // of uneven blocks, as this rank sees them
  bool told_ = false;                  // whether all ranks see the same
};

}  // namespace tutti::perf
