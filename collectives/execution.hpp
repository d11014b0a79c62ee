/// @file
/// Runs one bound collective: starts each operation of its programs when what it needs is done,
/// several segments at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tutti/spi/group.hpp>
#include <tutti/spi/memory.hpp>
#include <tutti/spi/streams.hpp>
#include <tutti/spi/transport.hpp>

#include "lowering.hpp"
#include "outbox.hpp"
#include "partitioned.hpp"
#include "scratch.hpp"

namespace tutti::v0::detail {

/// A shape that has been chosen for and bound: everything that calls of this shape share.
struct Binding {
  std::unique_ptr<Programs> programs{};  ///< What to do, where.
  Operator op;                           ///< Meaningful if the collective reduces.
  Datatype type{};                       ///< Of the elements.
  std::size_t element_bytes = 1;         ///< Of one element.
  std::size_t segments = 1;              ///< Pieces the vector is run in.
  std::size_t segment_bytes = 0;         ///< As asked; 0 if whole.
  std::string algorithm{};               ///< With parameters.
  std::uint8_t route = 0;                ///< As Transfer::route.
  std::uint64_t fingerprint = 0;         ///< Of all that must be equal on all ranks but the number.
  bool is_scaled = false;                ///< Whether places have exponents, see Place.
  std::string_view name{};               ///< What is called, such as "all_reduce".
  bool is_collective = true;             ///< Else it is messages between two ranks.
  bool has_own_counts = false;           ///< As Call::own_counts.
  /// Whether ranks that call it differently may all end, with messages left over.
  bool may_leave_unmatched = false;
  bool is_visible = false;  ///< Whether it is lowered for memory that peers see, on streams.
  std::optional<NativeCall> native{};  ///< What a library does, in place of programs.
  bool awaits_all = false;             ///< Whether no rank ends it before all have begun it.

  /// @return sizes and places.
  [[nodiscard]] const Layout& layout() const noexcept { return programs->layout(); }
};

/// What a run reads and writes. Passed by value, in registers.
struct RunBuffers {
  const void* in = nullptr;
  void* out = nullptr;
};
/// @param combination any. @param places its operands. @param exponents as many, which are set to
/// those of a fold: by what powers of two the operands are multiplied.
void set_exponents(const Combination& combination, std::span<const Place> places,
                   std::span<std::int8_t> exponents) noexcept;
/// @return whether a run's input and output share memory.
[[nodiscard]] bool is_in_place(const Binding& binding, RunBuffers buffers) noexcept;

/// Segments in flight at most; each has a tag of its own.
inline constexpr std::uint32_t kInstances = 8;

/// One operation of one shape. Reused from call to call; nothing is allocated after the first.
class Execution {
 public:
  /// @param outbox where messages go. @param scratch lends memory of the kind buffers lie in.
  /// @param binding what to do. @param instances segments in flight at most.
  Execution(Outbox& outbox, Scratch& scratch, std::shared_ptr<const Binding> binding,
            int instances);
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;
  ~Execution();

  using Buffers = RunBuffers;  ///< What to run on.
  /// How the run is known to the other ranks. Passed by value, in registers.
  struct Turn {
    std::uint64_t sequence = 0;  ///< Number of the collective, or of the run of a plan.
    std::uint32_t tag = 0;       ///< The first of kInstances tags, or, of two ranks, the only one.
  };
  /// Starts; the timeout is how long to wait. Throws what Transport::post throws.
  void start(Buffers buffers, Turn turn, Duration timeout);
  /// Counts as under way from now on, until it starts. @param timeout of both.
  void hold(Duration timeout) noexcept {
    is_held_ = true;
    active_ = 1;
    timeout_ = timeout;
    since_ = Duration{-1};
  }
  /// Whether it waits for its start.
  [[nodiscard]] bool is_held() const noexcept { return is_held_; }
  /// Has the next run go on partition by partition. @param partitions outlives the run.
  void partition(Partitioned& partitions) noexcept { set_partitioned(&partitions); }
  /// Asks again where a segment might not begin.
  void resume();
  /// Goes on from the oldest transfer that is done, of whatever execution. @param transport that
  /// has one.
  static void complete_oldest(Transport& transport);

  /// Gives the scratch back until the next start, unless it is little. Nothing may be pending.
  void rest() noexcept;
  /// Never gives the scratch back: peers may still write into it.
  void abandon() noexcept;
  /// Bytes it holds between two runs, which do not change until the next.
  [[nodiscard]] std::size_t footprint() const noexcept { return footprint_; }

  /// Whether it is among the calls of a batch that has not started.
  void set_enlisted(bool enlisted) noexcept { is_enlisted_ = enlisted; }
  [[nodiscard]] bool is_enlisted() const noexcept { return is_enlisted_; }
  /// Whether its handle ended within a call, after which it is given back.
  void set_dropped(bool dropped) noexcept { is_dropped_ = dropped; }
  [[nodiscard]] bool is_dropped() const noexcept { return is_dropped_; }
  /// Whether nothing is left to do.
  [[nodiscard]] bool done() const noexcept { return active_ == 0; }
  /// Whether these were the buffers of its last run.
  [[nodiscard]] bool ran_on(const void* in, const void* out) const noexcept {
    return has_run_ && in == buffers_.in && out == buffers_.out;
  }
  /// Number of the collective it runs or ran last; of a plan, that of the run, from one.
  [[nodiscard]] std::uint64_t sequence() const noexcept { return turn_.sequence; }
  /// The plan that it is, counted from one, or 0 for none: its runs take no turns.
  void set_plan(std::uint64_t plan) noexcept {
    plan_ = plan;
    turn_ = {};
  }
  [[nodiscard]] std::uint64_t plan() const noexcept { return plan_; }
  /// Whether it is one of the calls that all ranks make in the same order.
  [[nodiscard]] bool is_ordered() const noexcept { return binding_->is_collective && plan_ == 0; }
  /// Tags that its messages travel on, from the first one of its turn.
  [[nodiscard]] std::uint32_t tags() const noexcept {
    return static_cast<std::uint32_t>(instances_.size());
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
    Rank rank = -1;         ///< Or -1 for none.
    bool receives = false;  ///< Whether that rank has a message to take; else it has one to send.
  };
  [[nodiscard]] Awaited awaited() const noexcept;
  /// The same, for the other ranks. @param now the time.
  [[nodiscard]] CallWait wait(Duration now) const noexcept;
  [[nodiscard]] const Binding& binding() const noexcept { return *binding_; }

 private:
  struct Instance;
  /// A transfer; its address is the cookie.
  struct Pending {
    Instance* instance = nullptr;
    bool is_done = false;    // since it was posted
    bool is_spared = false;  // the next time: its bytes stand where they belong already
  };
  /// Of a message that was waited for.
  struct Waited {
    AccessId access = kNoAccess;
    const std::byte* data = nullptr;
    std::byte* result = nullptr;  // where the result may be stored as well
  };
  /// Combines the message of one operation, again and again.
  class Combining final : public Combiner {
   public:
    void combine(std::span<const std::byte> bytes) override;
    [[nodiscard]] std::byte* staging() noexcept override;

    Instance* instance = nullptr;
    std::uint32_t operation = 0;

   private:
    void combine_elements(std::span<const std::byte> elements);

    std::uint32_t combination_ = 0;        // the next one of the operation
    std::size_t done_ = 0;                 // elements of it
    std::array<std::byte, 16> element_{};  // which comes in parts
    std::size_t begun_ = 0;                // bytes of that
  };
  /// A run of a program: of segments index, index + instances, ... one after the other.
  struct Instance {
    Execution* owner = nullptr;
    std::size_t segment = 0;
    const Program* program = nullptr;      // of that segment, or null
    std::size_t shift = 0;                 // of input and output
    bool is_waiting = false;               // for its partition to be ready
    bool is_placed = false;                // pieces and transfers are those of the program, there
    std::uint32_t left = 0;                // operations that are not done
    std::vector<std::uint32_t> missing{};  // by batch: operations before it that are not done
    std::vector<std::uint32_t> ready{};    // batches that may start: the first so many
    std::size_t ready_count = 0;
    std::vector<Piece> pieces{};
    std::vector<Transfer> transfers{};  // by message, as are the next ones
    std::vector<Pending> pending{};
    std::vector<Waited> waited{};  // where a program waits
    std::unique_ptr<Combining[]> combiners{};
    std::size_t combiner_count = 0;
    std::byte* memory = nullptr;  // its part of the scratch
    std::size_t footprint = 0;
  };

  void prepare(bool moved);
  void take_program(Instance& instance);
  void take_input();
  void borrow();
  void give_back(ScratchBlock& block) noexcept;
  void begin(Instance& instance);
  void place(Instance& instance);
  void place_combiners(Instance& instance);
  void place_results(Instance& instance);
  void place_partitioned(Instance& instance) const;
  void set_partitioned(Partitioned* partitions) noexcept;
  [[nodiscard]] bool aliases() const noexcept;
  void advance(Instance& instance);
  [[nodiscard]] static Batch take_ready(const Instance& instance, std::size_t& index);
  void issue(Instance& instance, const Batch& batch);
  void post(Instance& instance, const Batch& batch);
  static void finish(Instance& instance, std::uint32_t operation);
  static void complete(Instance& instance, const Completion& completion);
  void note(Instance& instance, std::uint32_t message, const Completion& completion);
  [[nodiscard]] const std::byte* operand_at(const Instance& instance,
                                            const Place& place) const noexcept;
  void open_results(Instance& instance, const Combination& combination);
  void signal(Instance& instance, const Operation& operation);
  void combine(Instance& instance, const Combination& combination);
  void combine_part(const Instance& instance, const Combination& combination, std::size_t first,
                    std::span<const std::byte> incoming) const;
  [[nodiscard]] Fold fold_of(const Combination& combination) const noexcept;
  template <class Visit>
  static void for_each_awaited(const Instance& instance, Visit visit);
  [[nodiscard]] std::byte* at(const Instance& instance, const Place& place) const noexcept;

  Outbox& outbox_;
  Transport& transport_;
  Scratch& scratch_;
  Memory& memory_;
  std::shared_ptr<const Binding> binding_;
  Buffers buffers_{};
  Turn turn_{};
  std::uint64_t plan_ = 0;
  int user_tag_ = 0;
  Duration timeout_{0};
  bool has_run_ = false;
  bool is_ready_ = false;  // to start at the buffers it ran on last
  bool is_enlisted_ = false;
  bool is_dropped_ = false;
  bool is_held_ = false;
  bool in_place_ = false;
  Partitioned* partitioned_ = nullptr;
  Duration since_{-1};  // when the timeout began to count, or less than zero
  std::vector<Instance> instances_;
  const std::byte* input_ = nullptr;  // where it is read
  ScratchBlock input_copy_{};         // of scratch, where results stand in place of other inputs
  ScratchBlock block_{};              // of scratch, while it runs
  std::size_t instance_bytes_ = 0;    // of scratch
  std::size_t footprint_ = 0;
  std::size_t active_ = 0;  // instances that have something to do
  std::vector<const void*> operands_{};
  std::vector<std::int8_t> exponents_{};  // of those
  std::vector<void*> results_{};
};

}  // namespace tutti::v0::detail
