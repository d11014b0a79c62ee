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

/// Segments in flight at most; each has a tag of its own.
inline constexpr std::uint32_t kInstances = 8;

/// Gives several segment runs the buffers, the scratch and the number of one call, and knows what
/// the call waits for. Reused from call to call; nothing is allocated after the first.
class Execution {
 public:
  /// @param outbox where the first messages of batches are kept. @param scratch has memory of the
  /// kind buffers lie in. @param binding what to do. @param instances segments in flight at most.
  Execution(Outbox& outbox, Scratch& scratch, std::shared_ptr<const Binding> binding,
            int instances);
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;
  ~Execution();

  using Buffers = RunBuffers;  ///< What to run on.
  /// How the run is known to the other ranks. Passed by value, in registers.
  struct CallPosition {
    std::uint64_t sequence = 0;  ///< Number of the collective, or of the run of a plan.
    std::uint32_t tag = 0;       ///< The first of kInstances tags, or, of two ranks, the only one.
  };
  /// Starts; the timeout is how long to wait. Throws what Transport::post throws.
  void start(Buffers buffers, CallPosition position, Duration timeout);
  /// Counts as under way from now on, until it starts. @param timeout of both.
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
  /// Asks again whether segments may start that might not.
  void resume();

  /// Holds a user's operator until reset. @param op of the call, which the collective reads.
  void hold(const Operator& op) { context_.op = op; }
  /// Gives the scratch back until the next start, unless it is little, and a user's operator.
  /// Nothing may be pending.
  void reset() noexcept;
  /// Never gives the scratch back: peers may still write into it.
  void abandon() noexcept;
  /// Bytes it holds between two runs, which do not change until the next.
  [[nodiscard]] std::size_t footprint() const noexcept {
    return sizeof(Execution) + runs_.capacity() * sizeof(SegmentRun) + context_.footprint +
           kept_bytes_;
  }

  /// Whether it is among the calls of a batch that has not started.
  void set_enlisted(bool enlisted) noexcept { is_enlisted_ = enlisted; }
  [[nodiscard]] bool is_enlisted() const noexcept { return is_enlisted_; }
  [[nodiscard]] Notice& notice() noexcept { return notice_; }
  /// Whether its handle ended within a call, after which it is given back.
  void set_dropped(bool dropped) noexcept { is_dropped_ = dropped; }
  [[nodiscard]] bool is_dropped() const noexcept { return is_dropped_; }
  /// Whether nothing is left to do.
  [[nodiscard]] bool done() const noexcept { return context_.active == 0; }
  /// Whether these were the buffers of its last run.
  [[nodiscard]] bool ran_on(const void* in, const void* out) const noexcept {
    return has_run_ && in == buffers_.in && out == buffers_.out;
  }
  /// Number of the collective it runs or ran last; of a plan, that of the run, from one.
  [[nodiscard]] std::uint64_t sequence() const noexcept { return position_.sequence; }
  /// The plan that it is, counted from one, or 0 for none: its runs take no positions.
  void set_plan(std::uint64_t plan) noexcept {
    plan_ = plan;
    position_ = {};
  }
  [[nodiscard]] std::uint64_t plan() const noexcept { return plan_; }
  /// Whether it is one of the calls that all ranks make in the same order.
  [[nodiscard]] bool is_ordered() const noexcept { return binding().is_collective && plan_ == 0; }
  /// Tags that its messages travel on, from the first one of its position.
  [[nodiscard]] std::uint32_t tags() const noexcept {
    return static_cast<std::uint32_t>(runs_.size());
  }
  /// The user's tag of its next run, of messages between two ranks.
  void set_user_tag(int tag) noexcept { user_tag_ = tag; }
  [[nodiscard]] int user_tag() const noexcept { return user_tag_; }
  /// Whether to give up at this time. The clock is first read when there is nothing else to do,
  /// since reading it costs as much as a small collective; the timeout counts from then.
  [[nodiscard]] bool is_late(Duration now) noexcept {
    if (since_ < Duration::zero()) since_ = now;
    return now >= deadline_after(since_, timeout_);
  }
  /// What it waits for, for a person: algorithm, round, and the ranks awaited.
  [[nodiscard]] std::string state() const;
  /// A rank it waits for.
  struct Awaited {
    Rank rank = -1;  ///< Or -1 for none.
    bool receives =
        false;  ///< Whether that rank has a message to receive; else it has one to send.
  };
  [[nodiscard]] Awaited awaited() const noexcept;
  /// The same, for the other ranks. @param now the time.
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
  bool is_ready_ = false;  // to start at the buffers it ran on last
  bool is_enlisted_ = false;
  bool is_dropped_ = false;
  bool is_queued_ = false;
  bool in_place_ = false;
  Notice notice_{};
  Duration since_{-1};  // when the timeout began to count, or less than zero
  std::vector<SegmentRun> runs_{};
  ScratchBlock input_copy_{};   // of scratch, where results stand in place of other inputs
  ScratchBlock block_{};        // of scratch, while it runs
  std::size_t kept_bytes_ = 0;  // of scratch that is not given back
};

}  // namespace tutti::v0::detail
