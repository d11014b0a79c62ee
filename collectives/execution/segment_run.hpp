/// @file
/// Runs a program for one segment after another.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <tutti/error.hpp>
#include <tutti/spi/transport.hpp>

#include "bound_program.hpp"

namespace tutti::v0::detail {

/// Runs the segments of one lane, one after the other. With n lanes, a lane has every n-th segment,
/// and a tag of its own. Each operation of the program starts as soon as the operations that it
/// depends on are done.
class SegmentRun {
 public:
  /// @param context of the execution, which outlives this. @param lane in [0, context.lanes).
  SegmentRun(RunContext& context, std::uint32_t lane) noexcept
      : context_{context}, lane_{lane}, bound_{context} {}

  /// Returns to the first segment of the lane.
  void rewind() {
    segment_ = lane_;
    bound_.choose(segment_);
  }
  /// Forgets all addresses, since buffers have moved.
  void unbind() noexcept { bound_.unbind(); }
  /// Sets the scratch of this lane.
  void set_scratch(std::byte* memory) noexcept { bound_.set_scratch(memory); }
  /// Makes the segment ready to start.
  void begin() {
    const Program& program = bound_.program();
    expects(program.held_bytes <= context_.scratch_bytes,
            "no segment needs more scratch than the first one");
    if (!bound_.is_bound()) bind();
    for (Transfer& transfer : bound_.transfers()) {
      transfer.tag = context_.tag + lane_;
      transfer.fingerprint = context_.fingerprint;
    }
    if (!program.next.empty()) std::ranges::copy(program.needs, missing_.begin());
    left_ = program.size();
    is_waiting_ = true;
  }
  /// Starts all operations that are ready, and the next segments, without waiting.
  void advance();
  /// Starts the segment that Partitioned::is_ready held back, if it is ready now.
  void resume() {
    if (is_waiting_) advance();
  }
  /// Continues the run, of any execution, to which the oldest completion belongs. @param transport
  /// that has a completion.
  static void complete_oldest(Transport& transport);

  [[nodiscard]] const Program& program() const noexcept { return bound_.program(); }
  [[nodiscard]] std::size_t segment() const noexcept { return segment_; }
  [[nodiscard]] const Transfer& transfer(std::uint32_t message) const noexcept {
    return bound_.transfer(message);
  }
  /// @param counts returns whether a message is considered. @return the first such message that was
  /// posted and is not done, or kNoMessage.
  template <class Counts>
  [[nodiscard]] std::uint32_t find_awaited(Counts counts) const {
    if (is_waiting_ || left_ == 0) return kNoMessage;
    const std::vector<Batch>& batches = program().batches;
    for (std::size_t i = 0; i < batches.size(); ++i)
      for (std::uint32_t k = 0; k < batches[i].messages; ++k) {
        const std::uint32_t message = batches[i].first_message + k;
        const bool is_posted = program().needs[i] == 0 || missing_[i] == 0;
        if (is_posted && !bound_.pending(message).is_done && counts(message)) return message;
      }
    return kNoMessage;
  }

 private:
  void bind();
  [[nodiscard]] Batch pop_ready(std::size_t& index) const;
  void post(const Batch& batch);
  void combine(const Batch& batch);
  void complete(const Completion& completion);
  void finish(std::uint32_t operation);

  RunContext& context_;
  std::uint32_t lane_;
  std::size_t segment_ = 0;
  BoundProgram bound_;
  bool is_waiting_ = false;               // for Partitioned::is_ready
  std::uint32_t left_ = 0;                // operations that are not done
  std::vector<std::uint32_t> missing_{};  // by batch: operations before it that are not done
  std::vector<std::uint32_t> ready_{};    // batches that may start: the first ready_count_
  std::size_t ready_count_ = 0;
  std::size_t footprint_ = 0;
};

}  // namespace tutti::v0::detail
