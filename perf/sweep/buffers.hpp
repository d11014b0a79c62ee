/// @file
/// The buffers of one measured configuration.
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

/// The result of checking this rank's output.
struct Check {
  std::size_t wrong = 0;   ///< Elements with a wrong value.
  std::uint64_t hash = 0;  ///< Hash of the output.
};

/// One rank's input and output, between guard bytes, and the call that uses them.
class Buffers {
 public:
  /// Allocates. @param alignment of memory of the host. A broadcast's buffer is an input at the
  /// root and an output elsewhere. @param gpu copies from and to memory of a GPU; null for memory
  /// of the host. It must outlive this object.
  Buffers(const Workload& workload, Rank rank, const Alignment& alignment = {},
          const Allocate& allocate = allocate_private, cuda::TimedStream* gpu = nullptr);

  /// @return the calls, in order: two in a ping-pong, none on a rank that takes no part in it, else
  /// one.
  [[nodiscard]] std::span<const Call> calls() const noexcept { return calls_; }
  /// @return the calls for a library of its own. If blocks differ, their counts are in the Call;
  /// for tutti's calls they are in the Options.
  [[nodiscard]] std::span<const Call> native_calls() const noexcept { return native_calls_; }
  /// @return Options::counts of the calls.
  [[nodiscard]] Counts counts() const noexcept {
    return knows_all_counts_ ? Counts{counts_} : Counts{};
  }
  /// Writes the input again.
  void refresh();
  /// Overwrites the output, so that the check finds missing results.
  void poison();
  /// Reads every cache line of the output, as an application would; on a GPU nothing. @return a
  /// value that depends on it, so that the compiler keeps the reads.
  [[nodiscard]] std::uint64_t read() const;
  /// Compares the output with the expected values, and the guard bytes with theirs.
  [[nodiscard]] Check check();
  /// @return the bytes of the output.
  [[nodiscard]] std::vector<std::byte> output();

 private:
  /// A buffer between two guards. A buffer of a GPU has a copy in memory of the host.
  struct Block {
    /// `offset` is the distance of the data from a page; on a GPU it has no effect.
    Block(std::size_t bytes, std::size_t offset, const Allocate& allocate, cuda::TimedStream* gpu);
    [[nodiscard]] bool is_intact() const;
    [[nodiscard]] std::byte* data() const noexcept;
    /// The address in the copy of an address in the buffer.
    [[nodiscard]] std::byte* on_host(const void* address) const noexcept;
    void store(void* to, std::size_t count) const;  // from the copy
    void load() const;                              // to the copy, with the guards
    std::size_t bytes;
    std::size_t whole;  // bytes with the guards
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
  std::optional<Block> kept_input_{};  // on a GPU, the source of refresh
  Call call_{};                        // with both buffers
  std::vector<Call> calls_{};          // parts of call_, in order
  std::vector<Call> native_calls_{};   // the same, for a library's own calls
  std::vector<std::size_t> counts_{};  // of uneven blocks, as this rank sees them
  bool knows_all_counts_ = false;      // whether all ranks know the counts of all blocks
};

}  // namespace tutti::perf
