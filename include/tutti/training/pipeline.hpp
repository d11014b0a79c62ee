/// @file
/// Pipeline: items that pass through stages, several at the same time, such as the batches of a
/// training that are sampled, gathered and trained on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <tutti/error.hpp>
#include <tutti/export.hpp>
#include <tutti/request.hpp>

namespace tutti::v0 {

/// The time of a stage in a run.
struct StageReport {
  std::string name{};       ///< Name of the stage.
  std::uint64_t items = 0;  ///< Items that it has finished.
  Duration busy{0};         ///< Time with an item, as Pipeline::poll has seen it.
  Duration longest{0};      ///< Longest time of one item.
};

/// The report of a run of a Pipeline.
struct PipelineReport {
  std::uint64_t items = 0;            ///< Items that have left the last stage.
  Duration elapsed{0};                ///< Time since the start of the run, up to its end.
  Duration longest_poll{0};           ///< Longest time of Pipeline::poll.
  std::vector<StageReport> stages{};  ///< Reports of the stages, in their order.
  /// @return a line for each stage: its name, the time of an item, and its share of the run.
  [[nodiscard]] TUTTI_API std::string text() const;
};

/// Options of a Pipeline.
struct PipelineOptions {
  std::size_t depth = 2;  ///< Most items in flight at the same time; 1 or more.
};

/// Computes how many items in flight are enough.
/// @param times of successive items: the time of each stage for it.
/// @return the least depth of a Pipeline that would be at most 5 % slower than an unbounded one if
/// these items came again and again; 1 without items. More costs memory, and gains nothing.
[[nodiscard]] TUTTI_API std::size_t suggested_depth(std::span<const std::vector<Duration>> times);

namespace detail {

/// The thread that advances a stage.
enum class StageKind : std::uint8_t {
  polled,   // functions that do not block
  request,  // an operation of a communicator, which may go on only while it is tested
  thread    // a function that blocks, on a thread of the stage's
};

/// A stage for numbers of items and of slots.
struct StageCalls {
  std::string name{};
  StageKind kind = StageKind::polled;
  std::function<void(std::size_t slot, std::uint64_t item)> start{};
  std::function<bool(std::size_t slot, std::uint64_t item)> is_finished{};  // not of a thread
};

/// A pipeline of numbers of items.
class TUTTI_API PipelineCore {
 public:
  using Source = std::function<bool(std::size_t slot, std::uint64_t item)>;
  /// @param slots of the stages; the pipeline owns them.
  PipelineCore(std::vector<StageCalls> stages, std::size_t depth, std::shared_ptr<void> slots);
  PipelineCore(const PipelineCore&) = delete;
  PipelineCore& operator=(const PipelineCore&) = delete;
  ~PipelineCore();  // waits for what stages are at, but for the function that it is called by
  void start(Source source);
  bool poll();
  void run();
  [[nodiscard]] PipelineReport report() const;
  [[nodiscard]] std::size_t suggested_depth() const;

 private:
  class [[gnu::visibility("hidden")]] State;
  std::shared_ptr<State> state_;
};

/// Calls a function of an item, and of the item's number if it takes one.
template <class Function, class Item>
decltype(auto) call_with(Function& function, Item& item, std::uint64_t number) {
  constexpr bool kWantsNumber = std::is_invocable_v<Function&, Item&, std::uint64_t>;
  static_assert(
      kWantsNumber || std::is_invocable_v<Function&, Item&>,
      "a pipeline's functions have the parameters (Item&) or (Item&, std::uint64_t number)");
  if constexpr (kWantsNumber) return function(item, number);
  else return function(item);
}

}  // namespace detail

/// A stage of a Pipeline, made by stage, request_stage and thread_stage.
/// @tparam Item type of the items.
template <class Item>
class Stage {
 public:
  /// @param bind makes the stage's calls for the slots of a pipeline.
  explicit Stage(std::function<detail::StageCalls(std::span<Item>)> bind)
      : bind_{std::move(bind)} {}
  /// @return the stage's calls for the slots of a pipeline.
  [[nodiscard]] detail::StageCalls bind(std::span<Item> slots) const { return bind_(slots); }

 private:
  std::function<detail::StageCalls(std::span<Item>)> bind_;
};

namespace detail {

template <class Start, class IsFinished>
struct PolledStage {
  std::string name;
  Start start;
  IsFinished is_finished;
  template <class Item>
  operator Stage<Item>() const {  // NOLINT(google-explicit-constructor)
    return Stage<Item>{[stage = *this](std::span<Item> slots) {
      return StageCalls{
          stage.name, StageKind::polled,
          [slots, start = stage.start](std::size_t slot, std::uint64_t item) mutable {
            call_with(start, slots[slot], item);
          },
          [slots, test = stage.is_finished](std::size_t slot, std::uint64_t item) mutable {
            return static_cast<bool>(call_with(test, slots[slot], item));
          }};
    }};
  }
};

template <class Start>
struct RequestStage {
  std::string name;
  Start start;
  template <class Item>
  operator Stage<Item>() const {  // NOLINT(google-explicit-constructor)
    return Stage<Item>{[stage = *this](std::span<Item> slots) {
      const auto request = std::make_shared<Request>();
      return StageCalls{
          stage.name, StageKind::request,
          [slots, request, start = stage.start](std::size_t slot, std::uint64_t item) mutable {
            *request = call_with(start, slots[slot], item);
          },
          [request](std::size_t, std::uint64_t) { return request->test(); }};
    }};
  }
};

template <class Function>
struct ThreadStage {
  std::string name;
  Function function;
  template <class Item>
  operator Stage<Item>() const {  // NOLINT(google-explicit-constructor)
    return Stage<Item>{[stage = *this](std::span<Item> slots) {
      return StageCalls{
          stage.name,
          StageKind::thread,
          [slots, function = stage.function](std::size_t slot, std::uint64_t item) mutable {
            call_with(function, slots[slot], item);
          },
          {}};
    }};
  }
};

}  // namespace detail

/// A stage of two functions that do not block. Each takes (Item&), or (Item&, std::uint64_t) with
/// the number of the item, and is copied.
/// @param name for reports and error texts. @param start begins an item.
/// @param is_finished is called until it returns that the item is done.
template <class Start, class IsFinished>
[[nodiscard]] auto stage(std::string name, Start start, IsFinished is_finished) {
  return detail::PolledStage<Start, IsFinished>{std::move(name), std::move(start),
                                                std::move(is_finished)};
}

/// A stage that communicates. Items start in order, but at different times on the ranks. So each
/// such stage needs a communicator that nothing else calls meanwhile, for example of
/// Communicator::duplicate. Operations advance while the pipeline is polled, and at any time with
/// CommunicatorOptions::progress_thread.
/// @param name for reports and error texts.
/// @param start takes (Item&), or (Item&, std::uint64_t), and returns a Request, such as
/// `world.async().all_gather(...)`.
template <class Start>
[[nodiscard]] auto request_stage(std::string name, Start start) {
  return detail::RequestStage<Start>{std::move(name), std::move(start)};
}

/// A stage that blocks, on a thread of its own.
/// @param name for reports and error texts.
/// @param function does all work on an item; takes (Item&), or (Item&, std::uint64_t).
template <class Function>
[[nodiscard]] auto thread_stage(std::string name, Function function) {
  return detail::ThreadStage<Function>{std::move(name), std::move(function)};
}

/// Items that pass through stages. A stage has one item at a time, and the stages have different
/// ones, so the slowest stage determines the time per item. Items stay in their order. There are
/// PipelineOptions::depth slots: an item stays in one slot from the first stage to the last, and
/// then the next item gets it as it is, with its allocations.
///
/// An exception of a stage or the source ends the pipeline: no other stage begins an item, and when
/// all have finished theirs, poll and run throw an Error, in this and all later calls. It names the
/// stage, the item, and the exception, with the code of an Error, otherwise ErrorCode::aborted;
/// std::rethrow_if_nested throws the original. Neither copied nor moved. One thread at a time calls
/// it, and its own functions may not: otherwise the call is Error{invalid_argument}, and does not
/// disturb the other one. So is one in a forked child if stages have threads.
/// @tparam Item type of the items; default-constructible.
template <class Item>
class Pipeline {
 public:
  /// @param stages in their order, one or more. Throws Error{invalid_argument}.
  explicit Pipeline(std::vector<Stage<Item>> stages, const PipelineOptions& options = {})
      : slots_{std::make_shared<std::vector<Item>>(options.depth)}, core_{bind(stages, *slots_),
                                                                          options.depth, slots_} {}
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;
  /// Waits until stages have finished their items, within a run that has not ended. An operation of
  /// a communicator is dropped, as any Request: other ranks may wait for it. Within a function of a
  /// stage or a source it ends the run: stages begin no other items.
  ~Pipeline() = default;

  /// Begins a run; poll does the work. Throws Error{invalid_argument} if the run before has not
  /// ended.
  /// @param count of items, with numbers 0 .. count - 1.
  void start(std::uint64_t count) {
    core_.start([count](std::size_t, std::uint64_t item) { return item < count; });
  }
  /// As above. @param source is called by poll when a slot and the first stage are free; takes
  /// (Item&), or (Item&, std::uint64_t), and returns whether there is an item, which it may store
  /// there. It is copied, and must not block.
  template <class Source>
  requires(!std::is_convertible_v<Source, std::uint64_t>) void start(Source source) {
    core_.start([slots = std::span<Item>{*slots_}, source = std::move(source)](
                    std::size_t slot, std::uint64_t item) mutable {
      return static_cast<bool>(detail::call_with(source, slots[slot], item));
    });
  }
  /// Advances items whose stages have finished. Does not block: it makes at most two calls of each
  /// of the stages' functions. Throws the error of a stage. @return whether there is no run, or it
  /// has ended.
  bool poll() { return core_.poll(); }
  /// Runs to the end. It sleeps while there is nothing to do: until the thread of a stage has
  /// finished, or, for a stage that is polled, for a sixteenth of the time that it has waited, at
  /// most 1 ms, or 20 us for an operation of a communicator. Throws as start and poll. @param count
  /// as for start.
  PipelineReport run(std::uint64_t count) {
    start(count);
    core_.run();
    return report();
  }
  /// As above. @param source as for start.
  template <class Source>
  requires(!std::is_convertible_v<Source, std::uint64_t>) PipelineReport run(Source source) {
    start(std::move(source));
    core_.run();
    return report();
  }

  /// @return the report of the current or last run.
  [[nodiscard]] PipelineReport report() const { return core_.report(); }
  /// @return the depth that would have been enough for the last 64 items of this run, see
  /// tutti::suggested_depth; the own depth if no item has ended.
  [[nodiscard]] std::size_t suggested_depth() const { return core_.suggested_depth(); }
  /// @return the slots, to prepare them; not during a run.
  [[nodiscard]] std::span<Item> slots() noexcept { return *slots_; }

 private:
  static std::vector<detail::StageCalls> bind(const std::vector<Stage<Item>>& stages,
                                              std::span<Item> slots) {
    std::vector<detail::StageCalls> calls;
    for (const Stage<Item>& stage : stages) calls.push_back(stage.bind(slots));
    return calls;
  }

  std::shared_ptr<std::vector<Item>> slots_;
  detail::PipelineCore core_;
};

}  // namespace tutti::v0
