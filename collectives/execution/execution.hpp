/// @file
/// An execution: one operation of one shape, from its start to its end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <tutti/spi/group.hpp>
#include <tutti/spi/transport.hpp>

#include "collectives/lowering/binding.hpp"

#include "notice.hpp"
#include "outbox.hpp"
#include "partitioned.hpp"
#include "scratch.hpp"
#include "segment_run.hpp"

namespace tutti::v0::detail {

/// The most segments in flight; each has a tag of its own.
inline constexpr std::uint32_t kInstances = 8;

/// Runs one call: gives its segment runs their buffers, scratch and tags. It is reused from call to
/// call, and allocates nothing after the first one.
class Execution {
 public:
  /// @param outbox keeps the first messages of batches. @param scratch has memory of the kind of
  /// the buffers. @param instances the most segments in flight.
  Execution(Outbox& outbox, Scratch& scratch, std::shared_ptr<const Binding> binding,
            int instances);
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;
  ~Execution();

  using Buffers = RunBuffers;
  /// The number and tag by which ranks match their runs. Passed by value, in registers.
  struct CallPosition {
    std::uint64_t sequence = 0;  ///< Number of the collective, or of the run of a plan.
    std::uint32_t tag = 0;       ///< The first of kInstances tags; the only tag of a message.
  };
  /// Starts. @param timeout after which it is late. Throws as Transport::post.
  void start(Buffers buffers, CallPosition position, Duration timeout);
  /// Makes it count as under way before it starts. @param timeout for the wait and the run
  /// together.
  void queue(Duration timeout) noexcept {
    is_queued_ = true;
    context_.active = 1;
    timeout_ = timeout;
    since_ = Duration{-1};
  }
  /// Whether it waits for its start.
  [[nodiscard]] bool is_queued() const noexcept { return is_queued_; }
  /// Makes the next run start segment by segment. @param partitions outlives the run.
  void partition(Partitioned& partitions) noexcept { set_partitions(&partitions); }
  /// Starts segments that Partitioned::is_ready held back, if they are ready now.
  void resume();

  /// Sets the operator of the call. A user's is kept until reset().
  void hold(const Operator& op) { context_.op = op; }
  /// Gives back the scratch, unless it is small, and drops a user's operator. Nothing may be
  /// pending.
  void reset() noexcept;
  /// Gives up the scratch without giving it back, since peers may still write into it.
  void abandon() noexcept;
  /// @return its bytes of memory between two runs.
  [[nodiscard]] std::size_t footprint() const noexcept {
    return sizeof(Execution) + runs_.capacity() * sizeof(SegmentRun) + context_.footprint +
           kept_bytes_;
  }

  /// Sets whether it belongs to a batch that has not started.
  void set_enlisted(bool enlisted) noexcept { is_enlisted_ = enlisted; }
  [[nodiscard]] bool is_enlisted() const noexcept { return is_enlisted_; }
  [[nodiscard]] Notice& notice() noexcept { return notice_; }
  /// Sets whether its handle was destroyed inside a call; it is given back after that call.
  void set_dropped(bool dropped) noexcept { is_dropped_ = dropped; }
  [[nodiscard]] bool is_dropped() const noexcept { return is_dropped_; }
  /// Whether nothing is left to do.
  [[nodiscard]] bool done() const noexcept { return context_.active == 0; }
  /// Whether these were the buffers of its last run.
  [[nodiscard]] bool ran_on(const void* in, const void* out) const noexcept {
    return has_run_ && in == buffers_.in && out == buffers_.out;
  }
  /// @return the number of the collective that it runs or ran last; for a plan, the number of that
  /// run, from one.
  [[nodiscard]] std::uint64_t sequence() const noexcept { return position_.sequence; }
  /// Makes it a plan, whose runs take no positions. @param plan its number, from one; 0 for none.
  void set_plan(std::uint64_t plan) noexcept {
    plan_ = plan;
    position_ = {};
  }
  [[nodiscard]] std::uint64_t plan() const noexcept { return plan_; }
  /// Whether all ranks must make this call in the same order.
  [[nodiscard]] bool is_ordered() const noexcept { return binding().is_collective && plan_ == 0; }
  /// @return the number of tags of its messages, from CallPosition::tag on.
  [[nodiscard]] std::uint32_t tags() const noexcept {
    return static_cast<std::uint32_t>(runs_.size());
  }
  /// Sets the user's tag of the next run of a point-to-point call.
  void set_user_tag(int tag) noexcept { user_tag_ = tag; }
  [[nodiscard]] int user_tag() const noexcept { return user_tag_; }
  /// Whether the timeout has passed. It counts from the first call of this function, which comes
  /// when there is nothing else to do: reading the clock costs as much as a small collective.
  [[nodiscard]] bool is_late(Duration now) noexcept {
    if (since_ < Duration::zero()) since_ = now;
    return now >= deadline_after(since_, timeout_);
  }
  /// @return a text for people: the call, its algorithm, and the round that it waits in.
  [[nodiscard]] std::string state() const;
  /// A rank for which a call waits.
  struct Awaited {
    Rank rank = -1;         ///< -1: none.
    bool receives = false;  ///< Whether that rank must receive a message; otherwise send one.
  };
  [[nodiscard]] Awaited awaited() const noexcept;
  /// @return its wait, for other ranks.
  [[nodiscard]] CallWait wait(Duration now) const noexcept;
  [[nodiscard]] const Binding& binding() const noexcept { return *context_.binding; }

 private:
  void prepare(bool moved);
  void find_input();
  void acquire_scratch();
  void give_back(ScratchBlock& block) noexcept;
  void set_partitions(Partitioned* partitions) noexcept;
  void unbind() noexcept;
  [[nodiscard]] std::uint64_t fingerprint() const noexcept;

  Scratch& scratch_;
  RunContext context_;
  Buffers buffers_{};
  CallPosition position_{};
  std::uint64_t plan_ = 0;
  int user_tag_ = 0;
  Duration timeout_{0};
  bool has_run_ = false;
  bool is_ready_ = false;  // to start at the buffers of its last run
  bool is_enlisted_ = false;
  bool is_dropped_ = false;
  bool is_queued_ = false;
  bool in_place_ = false;
  Notice notice_{};
  Duration since_{-1};  // when the timeout began to count; less than zero: it has not
  std::vector<SegmentRun> runs_{};
  ScratchBlock input_copy_{};   // scratch for the input, if results would overwrite it too early
  ScratchBlock block_{};        // scratch of all lanes
  std::size_t kept_bytes_ = 0;  // bytes of block_ if it is kept between runs
};

}  // namespace tutti::v0::detail
