/// @file
/// Calls of the host, from their arguments to their end.
#pragma once

#include <optional>
#include <string>

#include <tutti/communicator.hpp>

#include "collectives/binding/call_binder.hpp"
#include "collectives/diagnosis/diagnosis.hpp"

#include "progress.hpp"

namespace tutti::v0::detail {

/// Takes an idle execution for each call from the cache, starts it, and puts it back when it is
/// done.
class HostCalls {
 public:
  /// All arguments outlive this.
  HostCalls(CallBinder& binder, Diagnosis& diagnosis, Progress& progress) noexcept
      : binder_{binder}, diagnosis_{diagnosis}, progress_{progress} {}

  [[nodiscard]] CallBinder& binder() noexcept { return binder_; }
  [[nodiscard]] Diagnosis& diagnosis() noexcept { return diagnosis_; }
  [[nodiscard]] Progress& progress() noexcept { return progress_; }

  /// @return an idle execution for a call's shape, from the cache or a new one. Throws
  /// Error{invalid_argument} for wrong arguments, and the first failure of a failed communicator.
  [[nodiscard]] Execution* acquire(const Call& call, const Options& options);
  /// Acquires an execution for a plan, and numbers the plan. Throws as acquire().
  [[nodiscard]] Execution* acquire_plan(const Call& call, const Options& options);
  /// Runs a blocking call. Throws as acquire(), and the first failure.
  void run(const Call& call, const Options& options);
  /// Checks the buffers of a run. Throws Error{invalid_argument}, and the first failure.
  void check_start(const Execution& execution, const void* in, const void* out) const;
  /// Starts an acquired execution, or queues it until the window has room for it. @param timeout
  /// zero takes the communicator's. Throws as check_start().
  void start(Execution& execution, const void* in, void* out, Duration timeout);
  /// Takes the next position for a call that this rank does not make. @param words the reason.
  void skip(const std::string& words);
  /// Gives an execution back. If it is pending, the communicator fails.
  void release(Execution* execution) noexcept;

  /// Looks for a message that has arrived, and that no call receives yet. @param from its sender,
  /// or any_rank. @param tag the user's. Throws the first failure.
  [[nodiscard]] std::optional<Arrival> probe(Rank from, int tag);
  /// Waits for a message as probe() finds it. @param timeout zero takes the communicator's. Throws
  /// as probe(), and Error{timeout}, with which the communicator fails.
  [[nodiscard]] Arrival await_message(Rank from, int tag, Duration timeout);

 private:
  using Shape = ProgramCache::Shape;
  using CachedExecution = ProgramCache::CachedExecution;
  CachedExecution& ready_for(const Call& call, const Options& options);
  void run_later(Shape& shape, const Call& call, const Options& options);

  CallBinder& binder_;
  Diagnosis& diagnosis_;
  Progress& progress_;
};

}  // namespace tutti::v0::detail
